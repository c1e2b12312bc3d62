"""The configuration of the device plugin that shares cards: its meaning, and what the plugin refuses."""
