"""What people and programs see of jobs, batches and files. Nothing here changes anything."""
