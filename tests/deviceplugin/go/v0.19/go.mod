// The device plugin whose verdicts the tests read. `make plugin-loaders` downloads the module alone and builds it with
// its own go.mod.
module deviceplugin/v0.19

go 1.26

require github.com/NVIDIA/k8s-device-plugin v0.19.3
