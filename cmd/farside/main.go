// Command farside is the driver's tool for people: it looks at the fabric of remote addresses, reads and
// writes through it, serves it to other hosts, runs programs on the driver, and says what a machine lacks.
//
// It exits with 0, with 1 when something failed, and with 2 when it was called in a wrong way. Either is told
// in one line on standard error, with what to do about it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/manifest"
	"farside/rdmasim"
)

func main() {
	cmd, err := (&tool{}).command().ExecuteC()
	if err == nil {
		return
	}
	if f, ok := errors.AsType[*failure](err); ok {
		fmt.Fprintf(os.Stderr, "farside: %v\n", f)
		os.Exit(max(f.status, 1))
	}
	// Everything that isn't a failure comes from cobra or from reading the arguments.
	fmt.Fprintf(os.Stderr, "farside: %v: %s --help tells how to call it\n", err, cmd.CommandPath())
	os.Exit(2)
}

const secretVariable = config.SecretFile

// tool is what all subcommands share.
type tool struct {
	fabric string // "" is this host
	secret string // file, "" to leave it to the environment
}

func (t *tool) command() *cobra.Command {
	root := &cobra.Command{
		Use:     "farside",
		Version: version,
		Short:   "Look at Farside's fabric and use it, and run programs on the driver",
		Long: `Farside gives device memory remote addresses. This tool lists the regions behind
them, reads and writes them, and serves them to other hosts. It also runs programs on
the driver, and says what a machine lacks for it.

An ADDRESS is what vkGetMemoryRemoteAddressNV returned, or lies in the region
behind it: hexadecimal (0x4180...) or decimal. A LENGTH is a number of bytes,
hexadecimal or decimal, or has a unit: 512KiB, 3MiB, 1GiB.

Exit status: 0, 1 after a failure, 2 when called in a wrong way.`,
		Example: `  farside regions
  farside read 0x4180000000001000 64
  farside --fabric tls://192.0.2.7:7471/ read 0x4180000000001000 1MiB -o data`,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if t.secret == "" {
				return nil
			}
			return os.Setenv(secretVariable, t.secret)
		},
	}
	root.PersistentFlags().StringVar(&t.fabric, "fabric", "",
		"`URL` that farside serve prints (default: this host)")
	root.PersistentFlags().StringVar(&t.secret, "secret-file", "",
		"`FILE` by which hosts know each other (default: "+secretVariable+")")
	root.AddCommand(t.regions(), t.read(), t.write(), t.atomic(), t.serve(), t.ping(),
		t.run(), t.verbs(), t.faults(), t.report(), t.doctor(), t.env(), t.profile(),
		t.install(), t.uninstall(), t.probe())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	shapeGroups(root)
	shapeHelp(root)
	return root
}

// open joins the fabric that --fabric names.
func (t *tool) open(ctx context.Context) (*rdmasim.Peer, error) {
	return rdmasim.Open(ctx, t.fabric)
}

// resolve joins the fabric and finds the region around an address. length bytes from there on must be in it.
func (t *tool) resolve(ctx context.Context, address, length uint64) (*rdmasim.Peer, *rdmasim.RemoteRegion, error) {
	p, err := t.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := p.Resolve(ctx, address)
	if err == nil && length > rest(r, address) {
		err = fmt.Errorf("%w: %d bytes at %#x of region %#x+%#x", rdmasim.ErrOutOfRange, length, address, r.Base(),
			r.Length())
	}
	if err != nil {
		_ = p.Close()
		return nil, nil, err
	}
	return p, r, nil
}

// rest is how many bytes of a region lie behind an address in it.
func rest(r *rdmasim.RemoteRegion, address uint64) uint64 { return r.Length() - (address - r.Base()) }

// addresses completes the first argument with the regions of this host.
func (t *tool) addresses(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 || t.fabric != "" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	list, err := t.list(cmd.Context())
	if err != nil && !errors.Is(err, rdmasim.ErrTimeout) {
		return nil, cobra.ShellCompDirectiveError
	}
	var all []cobra.Completion
	for _, r := range list {
		what := fmt.Sprintf("%s %s of process %d", formatSize(r.Length), printable(r.Name), r.PID)
		all = append(all, cobra.CompletionWithDesc(fmt.Sprintf("%#x", r.Address), what))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// untilInterrupt makes an interrupt or a termination end the context.
func untilInterrupt(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
}

// isTerminal says whether a person sees what is written there.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// failure is an error that isn't the caller's: exit status 1.
type failure struct {
	err    error
	cure   string // may be empty
	status int    // to exit with; 0: 1
}

func (f *failure) Error() string {
	// The package of an error says nothing to a person at a shell.
	text := strings.ReplaceAll(f.err.Error(), "rdmasim: ", "")
	if f.cure != "" {
		text += ": " + f.cure
	}
	return text
}

func (f *failure) Unwrap() error { return f.err }

var cures = []struct {
	err  error
	cure string
}{
	{rdmasim.ErrUnknownAddress, "farside regions, on the owner's host, lists those that there are"},
	{rdmasim.ErrOutOfRange, "farside regions, on the owner's host, shows where it ends"},
	{rdmasim.ErrFreed, "farside regions, on the owner's host, lists those that there are"},
	{rdmasim.ErrAccess, "its owner restricts it by " + rdmasim.AccessVariable + " or by a suffix of its name"},
	{rdmasim.ErrMisaligned, "it must be a multiple of 4 with --width 32, of 8 otherwise"},
	{rdmasim.ErrOwnerDied, "start its process again and ask it for a new address"},
	{rdmasim.ErrTimeout, "is its process stopped?"},
	{rdmasim.ErrUnreachable, "is farside serve running there, and is its name what it printed?"},
	{rdmasim.ErrProtocol, "build owner, bridge and farside from the same version"},
	{rdmasim.ErrUnknownFabric, "--fabric takes what farside serve prints, --bind an address of one interface"},
	{errNotBuilt, "make build in Farside's tree, or --from DIRECTORY"},
	{fs.ErrPermission, "are you its owner? --scope system needs root"},
	{manifest.ErrNotFound, "make build in Farside's tree, or make install, or --manifest FILE"},
	{rdmasim.ErrResources, "raise the limit of descriptors (ulimit -n) here and in the owner"},
}

// fail makes an error a failure and says what to do about it.
func (t *tool) fail(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return &failure{err: errors.New("interrupted")}
	}
	f := &failure{err: err}
	for _, c := range cures {
		if errors.Is(err, c.err) {
			f.cure = c.cure
			return f
		}
	}
	if errors.Is(err, rdmasim.ErrPermission) {
		f.cure = "run both as one user, or list the other's id in " + rdmasim.AllowUIDs + " on either side"
	}
	if errors.Is(err, rdmasim.ErrCredentials) || errors.Is(err, rdmasim.ErrPermission) && t.fabric != "" {
		f.cure = "give both sides the same secret by --secret-file or " + secretVariable + " (head -c 32 /dev/urandom)"
	}
	return f
}
