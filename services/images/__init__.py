"""Pictures that people upload: looked at by content (`inspect`), made smaller in a safe form (`resize`)."""
