"""What machines do, a module per hop: relay, dispatch, guards, publish, settle, look, sweep."""
