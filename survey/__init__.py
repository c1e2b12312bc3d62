"""Survey of manifests: what `check` finds in a folder of repositories, counted, with places to look at."""
