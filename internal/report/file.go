package report

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// openFile opens a regular file for reading. Package os is not used for it, since a report is written in the
// application's process, too: there our descriptors are 3 and above.
func openFile(path string) (*file, error) {
	f, err := openRegular(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

type file struct{ *fd.FD }

func (f *file) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(f.Int(), b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// create opens a regular file for writing, and makes it where there is none.
func create(path string, flags int) (*fd.FD, error) {
	return openRegular(path, unix.O_WRONLY|unix.O_CREAT|flags)
}

// openRegular opens a regular file. A FIFO or a terminal may keep who opens, reads or writes it waiting for ever, and a
// FIFO raises SIGPIPE.
func openRegular(path string, flags int) (*fd.FD, error) {
	f, err := fd.Open(path, unix.O_NONBLOCK|flags, 0o666)
	if err == unix.ENXIO { // a FIFO that nobody reads, a socket
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(f.Int(), &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = f.Close()
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return f, nil
}

// writeFile replaces a file.
func writeFile(path string, data []byte) error {
	f, err := create(path, unix.O_TRUNC)
	if err != nil {
		return err
	}
	defer f.Close()
	return write(f, path, data)
}

// write writes all of data.
func write(f *fd.FD, path string, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(f.Int(), data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		data = data[n:]
	}
	return nil
}
