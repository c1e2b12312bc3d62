// Package service lets a program answer many requests: a start, or another compilation, takes longer than an answer.
package service

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
)

// Serve reads requests in JSON from the standard input until it ends, and writes one answer for each.
func Serve[Request, Answer any](answer func(Request) Answer) {
	requests, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var request Request
		if err := requests.Decode(&request); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(answer(request)); err != nil {
			log.Fatal(err)
		}
	}
}
