"""Mail: addresses and texts are checked at the door, composed by id, and handed to one SMTP server."""
