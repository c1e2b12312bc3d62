package main

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// mostErrors is how many failures end a connection's part: a broken server shall not be asked for minutes.
const mostErrors = 20

// Report is what came of a run. Times are seconds.
type Report struct {
	Requests int                `json:"requests"`
	Seconds  float64            `json:"seconds"`
	Rate     float64            `json:"rate"`
	Allowed  int                `json:"allowed"`
	Statuses map[string]int     `json:"statuses"`
	Errors   map[string]int     `json:"errors"`
	Latency  map[string]float64 `json:"latency"`
}

// log is what one connection saw.
type log struct {
	latencies []time.Duration
	statuses  map[int]int
	errors    map[string]int
	failed    int
	allowed   int
}

func (l *log) add(latency time.Duration, status int, allows bool, err error) {
	if l.statuses == nil {
		l.statuses, l.errors = map[int]int{}, map[string]int{}
	}
	if err != nil {
		l.errors[err.Error()]++
		l.failed++
		return
	}
	l.statuses[status]++
	l.latencies = append(l.latencies, latency)
	if allows {
		l.allowed++
	}
}

func (l *log) hopeless() bool { return l.failed >= mostErrors }

func report(logs []log, elapsed time.Duration) Report {
	whole := Report{Seconds: elapsed.Seconds()}
	whole.Statuses, whole.Errors = map[string]int{}, map[string]int{}
	var latencies []time.Duration
	for _, one := range logs {
		latencies = append(latencies, one.latencies...)
		whole.Allowed += one.allowed
		for status, count := range one.statuses {
			whole.Statuses[strconv.Itoa(status)] += count
		}
		for text, count := range one.errors {
			whole.Errors[text] += count
		}
	}
	slices.Sort(latencies)
	whole.Requests = len(latencies)
	whole.Rate = float64(len(latencies)) / elapsed.Seconds()
	whole.Latency = percentiles(latencies)
	return whole
}

// percentiles of sorted latencies: the smallest that so large a part does not exceed.
func percentiles(sorted []time.Duration) map[string]float64 {
	found := map[string]float64{}
	if len(sorted) == 0 {
		return found
	}
	for name, part := range map[string]float64{"p50": 0.5, "p99": 0.99, "max": 1} {
		rank := int(math.Ceil(part * float64(len(sorted))))
		found[name] = sorted[max(rank, 1)-1].Seconds()
	}
	return found
}
