package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// load does what startPlugins does before it asks for the hardware. NewPluginManager refuses an unknown MIG strategy first.
func load(c *cli.Context, flags []cli.Flag) error {
	config, err := loadConfig(c, flags)
	if err != nil {
		return err
	}
	*config.Flags.Plugin.DeviceListStrategy = []string{"envvar"} // checked above; with CDI, the rest needs the driver
	if _, err := NewPluginManager(config); err != nil && strings.HasPrefix(err.Error(), "unknown strategy: ") {
		return err
	}
	return nil
}
