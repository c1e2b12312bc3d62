"""The site of the documentation: the pages of this repository, with navigation, search and versions."""
