package main

import (
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
)

// mockDriver is a DGX A100 of which only the first GPUs exist: healthy for ever and without MIG.
// The functions set here are those that the plugin calls and the mock leaves out; a call of one that is not set panics.
func mockDriver(gpus int) nvml.Interface {
	server := dgxa100.New()
	server.DeviceGetCountFunc = func() (int, nvml.Return) { return gpus, nvml.SUCCESS }
	server.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return quietEvents(), nvml.SUCCESS }
	for i := range server.Devices {
		gpu := server.Devices[i].(*dgxa100.Device)
		gpu.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
		gpu.RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return nvml.SUCCESS }
		gpu.GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return nvml.EventTypeXidCriticalError, nvml.SUCCESS }
	}
	return server
}

// quietEvents never reports a GPU error: each wait of the health check times out, so that every device stays healthy.
func quietEvents() nvml.EventSet {
	return &mock.EventSet{
		WaitFunc: func(milliseconds uint32) (nvml.EventData, nvml.Return) {
			time.Sleep(time.Duration(milliseconds) * time.Millisecond)
			return nvml.EventData{}, nvml.ERROR_TIMEOUT
		},
		FreeFunc: func() nvml.Return { return nvml.SUCCESS },
	}
}
