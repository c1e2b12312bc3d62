// Compiled into the plugin's own main package, whose main function calls it instead of running the plugin: it answers
// each line of standard input, a JSON string with a configuration file, with the error that the plugin ends with, or null.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"

	nvinfo "github.com/NVIDIA/go-nvlib/pkg/nvlib/info"
	"github.com/urfave/cli/v2"
	"k8s.io/klog/v2"
)

// nvmlSystem is a node with NVIDIA's driver library, where device list strategies with CDI are allowed.
type nvmlSystem struct{ nvinfo.Interface }

func (nvmlSystem) HasNvml() (bool, string) { return true, "" }

func answerLines(app *cli.App) error {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	file, err := os.CreateTemp("", "config")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	app.Action = func(c *cli.Context) error { return load(c, app.Flags) }
	app.ExitErrHandler = func(*cli.Context, error) {}

	lines := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var text string
		if err := json.Unmarshal(line, &text); err != nil {
			return err
		}
		if err := os.WriteFile(file.Name(), []byte(text), 0o600); err != nil {
			return err
		}
		var refused *string
		if err := app.Run([]string{app.Name, "--config-file", file.Name()}); err != nil {
			said := err.Error()
			refused = &said
		}
		if err := answers.Encode(refused); err != nil {
			return err
		}
	}
}
