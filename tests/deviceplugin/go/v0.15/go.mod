// The device plugin whose verdicts the tests read. `make plugin-loaders` downloads the module alone and builds it with
// its own go.mod.
// v0.15.1 changed nothing of the loader, and module proxies may lack it.
module deviceplugin/v0.15

go 1.26

require github.com/NVIDIA/k8s-device-plugin v0.15.0
