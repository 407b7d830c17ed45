"""The door: what people and programs send is checked, stored and turned into jobs, for pages and API alike."""
