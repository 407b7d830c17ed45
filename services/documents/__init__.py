"""AI document analysis: text is taken from an uploaded file (`extract`), then an engine answers (`analyse`)."""
