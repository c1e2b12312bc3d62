"""A release: the image, the locks of libraries with the digests of the wheels that pip may install, and the SBOM."""
