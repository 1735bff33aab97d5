package conformance

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A peer is another process of the test binary that plays a role: descriptor 3 is a unix socket, lines of
// text go over standard input and output.
type peer struct {
	c      *Case
	cmd    *exec.Cmd
	in     *os.File
	out    *bufio.Scanner
	socket int
	closes []*os.File
}

func (c *Case) start(role string) *peer {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	c.system("socketpair", err)
	inR, inW, err := os.Pipe()
	c.system("pipe", err)
	outR, outW, err := os.Pipe()
	c.system("pipe", err)
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FARSIDE_ROLE="+role)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, os.Stderr
	c.system("start "+role, cmd.Start())
	for _, f := range []*os.File{theirs, inR, outW} {
		f.Close()
	}
	return &peer{c: c, cmd: cmd, in: inW, out: bufio.NewScanner(outR), socket: pair[0], closes: []*os.File{inW, outR}}
}

// hear is the next line that the peer says.
func (p *peer) hear() string {
	for p.out.Scan() {
		if s, ok := strings.CutPrefix(p.out.Text(), "say: "); ok {
			return s
		}
		fmt.Println("peer:", p.out.Text())
	}
	p.c.Fatalf("the peer said nothing more: %v", p.out.Err())
	return ""
}

func (p *peer) tell(format string, args ...any) {
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.c.Errorf("peer doesn't listen: %v", err)
	}
}

func (p *peer) end() {
	for _, f := range p.closes {
		f.Close()
	}
	unix.Close(p.socket)
	_ = p.cmd.Wait()
}

func (p *peer) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// runRole is the life of a peer's process.
func runRole(role string) int {
	d, ok := roles[role]
	if !ok {
		fmt.Printf("no role is named %q\n", role)
		return 2
	}
	l, err := vulkan.Open()
	if err != nil {
		fmt.Println(err)
		return 2
	}
	c := &Case{def: &d, driver: os.Getenv("FARSIDE_CASE_DRIVER"), loader: l}
	c.guard(func() {
		if !d.bare {
			c.open(true)
		}
		d.run(c)
	})
	if c.failed {
		return 1
	}
	return 0
}

func say(format string, args ...any) { fmt.Printf("say: "+format+"\n", args...) }

// roles are what a peer may be asked to play.
var roles = map[string]definition{
	// exporter sends a descriptor of exportable memory with a pattern and then waits, or is killed.
	"exporter": {extensions: []string{fdExtension}, run: func(c *Case) {
		m, _ := c.exported()
		fill(c.bytes(m, ruleSize), 21)
		fd := c.getFd(m)
		c.system("send", sendFd(3, fd))
		say("sent")
		bufio.NewScanner(os.Stdin).Scan()
	}},
	// importer receives a descriptor, checks the pattern and answers with another.
	"importer": {extensions: []string{fdExtension}, run: func(c *Case) {
		fd, err := receiveFd(3)
		c.system("receive", err)
		m, r := c.importFd(ruleSize, c.visible(), fd)
		c.must("import", r)
		b := c.bytes(m, ruleSize)
		c.check("in the importer's process", b, 22)
		fill(b, 23)
		if c.failed {
			say("bad")
		} else {
			say("good")
		}
	}},
	"stage":      {extensions: externalExtensions, features: syncFeatures, queues: true, run: playStage},
	"dma_stage":  {extensions: dmaBufExtensions, features: syncFeatures, queues: true, run: playStage},
	"nv12":       {extensions: nv12Extensions, compute: true, needs: ycbcrNeeds, run: playNV12},
	"dma_nv12":   {extensions: dmaBufExtensions, compute: true, needs: ycbcrNeeds, run: playNV12},
	"dma_image":  {extensions: dmaBufExtensions, run: playDMAImage},
	"poller":     {bare: true, run: playPoller},
	"rdma_peer":  {bare: true, run: playRDMAPeer},
	"rdma_owner": {extensions: []string{rdmaExtension}, features: rdmaFeature, run: playRDMAOwner},
}

func survivalCases() []definition {
	const group = "api.external.memory.opaque_fd.survives."
	row := func(name string, run func(c *Case)) definition {
		return definition{name: group + name, extensions: []string{fdExtension}, valid: true, run: run}
	}
	fromPeer := func(c *Case, after func(p *peer)) {
		p := c.start("exporter")
		fd, err := receiveFd(p.socket)
		c.system("receive", err)
		p.hear()
		after(p)
		m, r := c.importFd(ruleSize, c.visible(), fd)
		c.must("import", r)
		c.check("payload of another process", c.bytes(m, ruleSize), 21)
		c.dev.Free(m)
		p.end()
	}
	return []definition{
		row("memory", func(c *Case) {
			m, t := c.exported()
			fill(c.bytes(m, ruleSize), 20)
			fd := c.getFd(m)
			c.dev.Free(m)
			i, r := c.importFd(ruleSize, t, fd)
			c.must("import", r)
			c.check("after vkFreeMemory", c.bytes(i, ruleSize), 20)
			c.dev.Free(i)
		}),
		row("device", func(c *Case) {
			m, t := c.exported()
			fill(c.bytes(m, ruleSize), 20)
			fd := c.getFd(m)
			c.dev.Free(m)
			c.dev.Destroy()
			c.dev = c.device(c.def.extensions, nil)
			i, r := c.importFd(ruleSize, t, fd)
			c.must("import", r)
			c.check("after vkDestroyDevice", c.bytes(i, ruleSize), 20)
			c.dev.Free(i)
		}),
		row("instance", func(c *Case) {
			m, t := c.exported()
			fill(c.bytes(m, ruleSize), 20)
			fd := c.getFd(m)
			c.dev.Free(m)
			c.close()
			c.open(true)
			i, r := c.importFd(ruleSize, t, fd)
			c.must("import", r)
			c.check("after vkDestroyInstance", c.bytes(i, ruleSize), 20)
			c.dev.Free(i)
		}),
		row("other_device", func(c *Case) {
			// Two devices of one physical device share the payload.
			m, t := c.exported()
			second := c.device(c.def.extensions, nil)
			i, r := second.Allocate(ruleSize, t, vulkan.ImportFdInfo(&c.a, opaqueFd, c.getFd(m), nil))
			c.must("import into a second device", r)
			fill(c.bytes(m, ruleSize), 24)
			p, r := second.Map(i, 0, vk.WHOLE_SIZE)
			c.must("vkMapMemory", r)
			c.check("second device", vulkan.Bytes(p, ruleSize), 24)
			second.Free(i)
			second.Destroy()
			c.dev.Free(m)
		}),
		row("process", func(c *Case) {
			fromPeer(c, func(p *peer) { p.tell("exit") })
		}),
		row("killed_process", func(c *Case) {
			fromPeer(c, func(p *peer) { p.kill() })
		}),
		row("importing_process", func(c *Case) {
			m, _ := c.exported()
			b := c.bytes(m, ruleSize)
			fill(b, 22)
			p := c.start("importer")
			fd := c.getFd(m)
			c.system("send", sendFd(p.socket, fd))
			unix.Close(fd)
			if s := p.hear(); s != "good" {
				c.Errorf("the importer says %s", s)
			}
			p.end()
			c.check("answer of the importer", b, 23)
			c.dev.Free(m)
		}),
	}
}
