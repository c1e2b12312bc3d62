// NVIDIA's device plugin as it is, its configuration, resource and allocation code, over a mock of the driver library.
// Only what the hardware would answer is made up. The module's path lies below the plugin's own, or Go would not let it
// import the plugin's internal packages.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvlib/pkg/nvlib/info"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/urfave/cli/v2"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	spec "github.com/NVIDIA/k8s-device-plugin/api/config/v1"
	"github.com/NVIDIA/k8s-device-plugin/internal/plugin"
	"github.com/NVIDIA/k8s-device-plugin/internal/rm"
)

func main() {
	app := cli.NewApp()
	app.Usage = "NVIDIA device plugin over a mock driver library"
	app.Flags = append(pluginFlags(), &cli.IntFlag{Name: "gpus", Value: 1, Usage: "how many of the mock machine's 8 GPUs exist"})
	app.Action = run
	if err := app.Run(os.Args); err != nil {
		klog.ErrorS(err, "The device plugin ends")
		os.Exit(1)
	}
}

// pluginFlags are those options of the real program that its packages read, with the defaults of the real program.
// The configuration file overrides them.
func pluginFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config-file", Usage: "the plugin's configuration file"},
		&cli.StringFlag{Name: "mps-root", Value: "/run/nvidia/mps"},
		&cli.StringFlag{Name: "mig-strategy", Value: spec.MigStrategyNone},
		&cli.BoolFlag{Name: "fail-on-init-error", Value: true},
		&cli.BoolFlag{Name: "pass-device-specs"},
		&cli.StringFlag{Name: "driver-root", Value: "/"},
		&cli.StringFlag{Name: "device-discovery-strategy", Value: "nvml"},
		&cli.StringFlag{Name: "device-id-strategy", Value: spec.DeviceIDStrategyUUID},
		&cli.StringSliceFlag{Name: "device-list-strategy", Value: cli.NewStringSlice(string(spec.DeviceListStrategyEnvVar))},
		&cli.StringFlag{Name: "cdi-annotation-prefix", Value: spec.DefaultCDIAnnotationPrefix},
	}
}

func run(c *cli.Context) error {
	config, err := spec.NewConfig(c, pluginFlags())
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	spec.DisableResourceNamingInConfig(config) // the real program does the same: only renameByDefault renames

	plugins, err := newPlugins(c.Context, config, mockDriver(c.Int("gpus")))
	if err != nil {
		return err
	}
	for _, p := range plugins {
		klog.InfoS("Starting a plugin", "devices", len(p.Devices()))
		if err := p.Start(pluginapi.KubeletSocket); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	for _, p := range plugins {
		if err := p.Stop(); err != nil {
			return err
		}
	}
	return nil
}

func newPlugins(ctx context.Context, config *spec.Config, driver nvml.Interface) ([]plugin.Interface, error) {
	devices := device.New(driver)
	platform := info.New(info.WithNvmlLib(driver), info.WithDeviceLib(devices))
	if err := rm.AddDefaultResourcesToConfig(platform, driver, devices, config); err != nil {
		return nil, fmt.Errorf("adding the default resources: %w", err)
	}
	strategies, err := spec.NewDeviceListStrategies(*config.Flags.Plugin.DeviceListStrategy)
	if err != nil {
		return nil, err
	}
	return plugin.New(ctx, platform, driver, devices,
		plugin.WithConfig(config),
		plugin.WithDeviceListStrategies(strategies),
		plugin.WithFailOnInitError(*config.Flags.FailOnInitError),
		plugin.WithDeviceDiscoveryStrategy(*config.Flags.DeviceDiscoveryStrategy),
	)
}
