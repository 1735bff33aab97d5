package icd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// dumped counts the shaders of the process that have been written down.
var dumped atomic.Uint32

// longestEntry is how much of an entry point's name the name of its directory has.
const longestEntry = 64

// dumpTo makes a directory for the texts of a shader's compilation, DIRECTORY/PID-NUMBER-ENTRY, and gives what writes
// them there, as compute.Options.Dump. Without a directory that is nil.
func dumpTo(directory, entry string) (func(stage, text string), error) {
	if directory == "" {
		return nil, nil
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_' // the module chooses the name, but not where the files lie
	}, entry)
	name = fmt.Sprintf("%d-%03d-%s", os.Getpid(), dumped.Add(1), name[:min(len(name), longestEntry)])
	to := filepath.Join(directory, name)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return nil, fmt.Errorf("FARSIDE_DUMP: %w", err)
	}
	return func(stage, text string) {
		if err := writeText(filepath.Join(to, stage+".txt"), text); err != nil {
			logger.Error("FARSIDE_DUMP: a text is missing", "error", err)
		}
	}, nil
}

// writeText makes a file. Package os is not used for it: our descriptors are 3 and above.
func writeText(path, text string) error {
	f, err := fd.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o666)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	for data := []byte(text); len(data) > 0; {
		n, err := unix.Write(f.Int(), data)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		default:
			data = data[n:]
		}
	}
	return nil
}
