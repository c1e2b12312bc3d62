package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// closedLoop has every connection ask one request after the other.
func closedLoop(target *target, o options) Report {
	logs := make([]log, o.connections)
	begin := time.Now().Add(o.warmup)
	end := begin.Add(o.duration)
	var next, measured atomic.Int64
	var all sync.WaitGroup
	for i := range o.connections {
		all.Go(func() {
			for {
				asked := time.Now()
				if !asked.Before(end) || (!asked.Before(begin) && measured.Add(1) > int64(o.limit)) {
					return
				}
				status, allows, err := target.ask(int(next.Add(1) - 1))
				if asked.Before(begin) {
					continue
				}
				if logs[i].add(time.Since(asked), status, allows, err); logs[i].hopeless() {
					return
				}
			}
		})
	}
	all.Wait()
	return report(logs, time.Since(begin))
}

// openLoop plans requests at a fixed rate; a free connection takes the next one.
func openLoop(target *target, o options) Report {
	first := int(o.rate * o.warmup.Seconds())
	count := first + min(o.limit, max(1, int(o.rate*o.duration.Seconds())))
	gap := time.Duration(float64(time.Second) / o.rate)
	// As large as the plan, so that the planner never waits for the server.
	plan := make(chan int, count)
	logs := make([]log, o.connections)
	start := time.Now().Add(time.Millisecond)
	var all sync.WaitGroup
	for i := range o.connections {
		all.Go(func() {
			for number := range plan {
				planned := start.Add(time.Duration(number) * gap)
				status, allows, err := target.ask(number)
				if number >= first {
					logs[i].add(time.Since(planned), status, allows, err)
				}
				if logs[i].hopeless() {
					return
				}
			}
		})
	}
	runtime.LockOSThread()
	for number := range count {
		planned := start.Add(time.Duration(number) * gap)
		for wait := time.Until(planned); wait > 0; wait = time.Until(planned) {
			// Go's own timers wake up to a millisecond late on Linux (netpoll waits in milliseconds).
			pause := syscall.NsecToTimespec(wait.Nanoseconds())
			syscall.Nanosleep(&pause, nil)
		}
		plan <- number
	}
	close(plan)
	runtime.UnlockOSThread()
	all.Wait()
	return report(logs, time.Since(start.Add(time.Duration(first)*gap)))
}
