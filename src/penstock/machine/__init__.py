"""One machine put together: store, operator and engine in one process, and the API through which they are reached."""
