//go:build !race

// The race detector takes several times the memory and the time that these tests allow.

package compute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/compute/internal/ir"
)

// hostileWait is how long a child may take: much more than its time, as others may have the processor.
const hostileWait = 24 * hostileTime

// hostileVariable names the family that a child compiles.
const hostileVariable = "FARSIDE_TEST_HOSTILE"

// TestMain becomes the process that compiles a hostile module when TestHostileModules says so.
func TestMain(m *testing.M) {
	if order := os.Getenv(hostileVariable); order != "" {
		ir.ValidateAll = false // it counts with the compiler alone
		if err := hostileChild(order); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hostileChild compiles the module of a family. It may use hostileMemory more than it has when it begins.
func hostileChild(order string) error {
	name, calls, _ := strings.Cut(order, "|")
	doublings, err := strconv.Atoi(calls)
	if err != nil {
		return err
	}
	for _, f := range hostileFamilies {
		if f.name != name {
			continue
		}
		bytes := hostileBytes
		if doublings > 0 {
			bytes /= 16
		}
		words := hostileModule(f, bytes, doublings)
		limit, err := memoryInUse()
		if err != nil {
			return err
		}
		limit += hostileMemory
		if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
		seconds := uint64(2 * hostileTime / time.Second)
		if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}); err != nil {
			return err
		}
		start := time.Now()
		err = compileHostile(words)
		fmt.Printf("hostile: %d bytes, %d ms: %v\n", 4*len(words), time.Since(start).Milliseconds(), err)
		return nil
	}
	return fmt.Errorf("there is no family %q", name)
}

// memoryInUse is the address space of the process, in bytes.
func memoryInUse() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`VmSize:\s*(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0, errors.New("/proc/self/status has no VmSize")
	}
	n, err := strconv.ParseUint(string(m[1]), 10, 64)
	return n << 10, err
}

// TestHostileModules compiles, of each family, a module of 64 KiB, and one that calls a shorter part of its kind
// often. Within the time and the memory that the package promises they become programs or are refused.
func TestHostileModules(t *testing.T) {
	for _, f := range hostileFamilies {
		for _, doublings := range []int{0, 7} {
			t.Run(fmt.Sprintf("%s, doubled %d times", f.name, doublings), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), hostileWait)
				defer cancel()
				cmd := exec.CommandContext(ctx, os.Args[0])
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d", hostileVariable, f.name, doublings))
				out, err := cmd.CombinedOutput()
				m := regexp.MustCompile(`hostile: (\d+) bytes, (.*)`).FindSubmatch(out)
				switch used := cmd.ProcessState; {
				case errors.Is(ctx.Err(), context.DeadlineExceeded):
					t.Fatal("it runs away")
				case err != nil || m == nil:
					t.Fatalf("%v: %.2000s", err, out)
				case used.UserTime()+used.SystemTime() > hostileTime:
					t.Errorf("%v of the processor: %s", used.UserTime()+used.SystemTime(), m[2])
				case strings.Contains(string(m[2]), "compiling"):
					t.Errorf("the compiler failed: %s", m[2])
				default:
					memory := used.SysUsage().(*syscall.Rusage).Maxrss >> 10
					t.Logf("%s bytes, %v, %d MiB: %s", m[1], used.UserTime()+used.SystemTime(), memory, m[2])
				}
			})
		}
	}
}
