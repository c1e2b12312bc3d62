"""`plan`: what a change of the device plugin's configuration or of the settings does to all that lives in a cluster."""
