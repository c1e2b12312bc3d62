"""Questions about a live cluster, as functions of its objects and facts, without IO and without the command line."""
