// Package soaking is what long runs that kill processes share: their command, what a process holds, and how far
// the run is.
package soaking

import (
	"bytes"
	"fmt"
	"os"
)

// RuntimeDescriptors is how many descriptors the two Go runtimes of a node may open whenever they like: each
// has its poller and the event that wakes it.
const RuntimeDescriptors = 4

// Usage is what a process holds.
type Usage struct {
	Descriptors int // open
	Shared      int // mappings of memfds
	Mappings    int // of all kinds
	Resident    int // memory, in KiB
}

// String says it in words.
func (u Usage) String() string {
	return fmt.Sprintf("%d descriptors, %d shared of %d mappings, %d KiB", u.Descriptors, u.Shared, u.Mappings, u.Resident)
}

// Measure is the usage of this process.
func Measure() (Usage, error) { return MeasureProcess(os.Getpid()) }

// MeasureProcess is the usage of a process of this user.
func MeasureProcess(pid int) (Usage, error) {
	var u Usage
	of := fmt.Sprintf("/proc/%d/", pid)
	fds, err := os.ReadDir(of + "fd")
	if err != nil {
		return u, err
	}
	maps, err := os.ReadFile(of + "maps")
	if err != nil {
		return u, err
	}
	statm, err := os.ReadFile(of + "statm")
	if err != nil {
		return u, err
	}
	var pages int
	if _, err := fmt.Sscan(string(statm), new(int), &pages); err != nil {
		return u, err
	}
	u.Descriptors = len(fds)
	u.Shared = bytes.Count(maps, []byte("/memfd:"))
	u.Mappings = bytes.Count(maps, []byte("\n"))
	u.Resident = pages * os.Getpagesize() / 1024
	return u, nil
}
