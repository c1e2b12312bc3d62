package main

import (
	"strings"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	nvinfo "github.com/NVIDIA/go-nvlib/pkg/nvlib/info"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/urfave/cli/v2"
)

// load does what startPlugins does before it asks for the hardware. NewPluginManager refuses an unknown MIG strategy first.
func load(c *cli.Context, flags []cli.Flag) error {
	config, err := loadConfig(c, flags)
	if err != nil {
		return err
	}
	library := nvml.New()
	system := nvmlSystem{nvinfo.New()}
	if err := validateFlags(system, config); err != nil {
		return err
	}
	*config.Flags.Plugin.DeviceListStrategy = []string{"envvar"} // checked above; with CDI, the rest needs the driver
	_, err = NewPluginManager(system, library, device.New(library), config)
	if err != nil && strings.HasPrefix(err.Error(), "unknown strategy: ") {
		return err
	}
	return nil
}
