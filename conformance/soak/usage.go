package main

import (
	"bytes"
	"fmt"
	"os"
)

// runtimeDescriptors is how many descriptors the two Go runtimes of a node may open whenever they like: each
// has its poller and the event that wakes it.
const runtimeDescriptors = 4

// usage is what a process holds.
type usage struct {
	descriptors int // open
	shared      int // mappings of memfds
	mappings    int // of all kinds
	resident    int // memory, in KiB
}

func (u usage) String() string {
	return fmt.Sprintf("%d descriptors, %d shared of %d mappings, %d KiB", u.descriptors, u.shared, u.mappings, u.resident)
}

// measure is the usage of this process.
func measure() (usage, error) {
	var u usage
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return u, err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return u, err
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return u, err
	}
	var pages int
	if _, err := fmt.Sscan(string(statm), new(int), &pages); err != nil {
		return u, err
	}
	u.descriptors = len(fds)
	u.shared = bytes.Count(maps, []byte("/memfd:"))
	u.mappings = bytes.Count(maps, []byte("\n"))
	u.resident = pages * os.Getpagesize() / 1024
	return u, nil
}
