package conformance

import (
	"time"

	"golang.org/x/sys/unix"
)

// dmaBufFenceCases tie the implicit fences of dma-bufs to semaphores and fences, by sync files. vgem's fences stand for
// the work of a graphics device: the case says when they are signalled.
func dmaBufFenceCases() []definition {
	row := func(name string, run func(c *Case, near *stage, far *farStage, v *vgem, handle uint32, fd int)) definition {
		return dmaRow("fences."+name, []string{vgemDevice}, func(c *Case, near *stage, far *farStage) {
			v := c.vgem()
			defer v.close()
			handle := v.dumb(stageBytes)
			defer v.free(handle)
			fd := v.export(handle, unix.O_RDWR)
			defer unix.Close(fd)
			for _, a := range []actor{near, far} {
				a.hand(c.duplicateOf(fd))
				c.ok(a, "adopt x dma")
				c.ok(a, "memory y mapped")
				c.ok(a, "binary s sync")
			}
			run(c, near, far, v, handle, fd)
		})
	}
	return []definition{
		row("wait_by_queue", func(c *Case, near *stage, far *farStage, v *vgem, handle uint32, fd int) {
			for n, a := range []actor{near, far} {
				fence := v.attach(handle)
				a.hand(c.syncFile(fd))
				c.ok(a, "import s sync temporary")
				c.ok(a, "submit 0 wait=s copy=y:x fence=done")
				c.ask(a, "VK_TIMEOUT", "wait done 0 50")
				c.scribble(fd, byte(n+5))
				v.signal(fence)
				c.ok(a, "wait done 0 20000")
				c.ok(a, "reset done")
				c.ok(a, "check y %d", n+5)
			}
		}),
		row("wait_by_host", func(c *Case, near *stage, far *farStage, v *vgem, handle uint32, fd int) {
			c.ok(near, "fence f sync")
			fence := v.attach(handle)
			near.hand(c.syncFile(fd))
			c.ok(near, "import f sync temporary")
			c.ask(near, "VK_NOT_READY", "status f")
			c.ask(near, "VK_TIMEOUT", "wait f 0 50")
			v.signal(fence)
			c.ok(near, "wait f 0 20000")
		}),
		row("none_pending", func(c *Case, near *stage, far *farStage, v *vgem, handle uint32, fd int) {
			near.hand(c.syncFile(fd))
			c.ok(near, "import s sync temporary")
			c.settled(near, "wait=s fill=x:7")
			c.wantBytes("filled", fd, 7)
		}),
		row("export_of_import", func(c *Case, near *stage, far *farStage, v *vgem, handle uint32, fd int) {
			// A sync file that was imported leaves again as one that the kernel takes: another dma-buf waits for it.
			fence := v.attach(handle)
			near.hand(c.syncFile(fd))
			c.ok(near, "import s sync temporary")
			c.ok(near, "export s sync")
			out := near.given()
			defer unix.Close(out)
			other := udmabuf(c, stageBytes)
			defer unix.Close(other)
			c.system("DMA_BUF_IOCTL_IMPORT_SYNC_FILE", importSyncFile(other, out))
			if got := poll(c, other, 0); got != 0 {
				c.Errorf("the other dma-buf does not wait: poll gives %#x", got)
			}
			v.signal(fence)
			if got := poll(c, other, 20000); got&unix.POLLIN == 0 {
				c.Errorf("the other dma-buf waits on: poll gives %#x", got)
			}
		}),
		row("own_is_no_sync_file", func(c *Case, near *stage, far *farStage, v *vgem, handle uint32, fd int) {
			// Nothing in the kernel lets a program make a fence that it signals without a time limit, so that the
			// SYNC_FD of a queue's signal is a pipe. The kernel says so; a wait by poll(2) takes its place.
			c.ok(near, "timeline gate 0 -")
			c.ok(near, "submit 0 wait=gate:1 fill=x:9 signal=s")
			c.ok(near, "export s sync")
			out := near.given()
			defer unix.Close(out)
			if err := importSyncFile(fd, out); err != unix.EINVAL {
				c.Errorf("DMA_BUF_IOCTL_IMPORT_SYNC_FILE of a pipe: %v, want EINVAL", err)
			}
			c.ok(near, "signal gate 1")
			if got := poll(c, out, 20000); got&unix.POLLIN == 0 {
				c.Errorf("poll of a signalled SYNC_FD: %#x", got)
			}
			c.wantBytes("filled", fd, 9)
		}),
		row("ignored_without_semaphore", func(c *Case, near *stage, far *farStage, v *vgem, handle uint32, fd int) {
			// Who imports no sync file does not wait, and neither a submission nor a mapping stands still for seconds.
			fence := v.attach(handle)
			start := time.Now()
			c.settled(near, "fill=x:3")
			c.ok(near, "write x 4")
			c.ok(near, "destroy x")
			near.hand(c.duplicateOf(fd))
			c.ok(near, "adopt x dma")
			c.settled(near, "copy=y:x")
			c.ok(near, "check y 4")
			if took := time.Since(start); took > 5*time.Second {
				c.Errorf("it took %v while a fence was pending", took)
			}
			v.signal(fence)
		}),
		row("signaller_gone", func(c *Case, near *stage, far *farStage, v *vgem, handle uint32, fd int) {
			// The kernel ends the fences of a program that is gone, so that nobody waits for ever.
			other := c.vgem()
			theirs := other.dumb(stageBytes)
			shared := other.export(theirs, unix.O_RDWR)
			defer unix.Close(shared)
			other.attach(theirs)
			near.hand(c.syncFile(shared))
			c.ok(near, "import s sync temporary")
			c.ok(near, "submit 0 wait=s fill=x:6 fence=done")
			c.ask(near, "VK_TIMEOUT", "wait done 0 50")
			other.close()
			c.ok(near, "wait done 0 20000")
			c.ok(near, "check x 6")
		}),
	}
}

// scribble writes a byte all over a dma-buf without a look at its fences, as a device does.
func (c *Case) scribble(fd int, value byte) {
	b, err := unix.Mmap(fd, 0, stageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	c.system("mmap", err)
	defer unix.Munmap(b)
	for i := range b {
		b[i] = value
	}
}
