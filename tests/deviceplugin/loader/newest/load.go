package main

import "github.com/urfave/cli/v2"

// load does what startPlugins does before it asks for the hardware.
func load(c *cli.Context, flags []cli.Flag) error {
	config, err := loadConfig(c, flags)
	if err != nil {
		return err
	}
	return validateFlags(nvmlSystem{}, config)
}
