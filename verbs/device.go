package verbs

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/config"
	"farside/internal/fault"
	"farside/internal/fd"
	"farside/internal/finding"
	"farside/internal/ibv"
	"farside/verbs/internal/cm"
	"farside/verbs/internal/engine"
	"farside/verbs/internal/network"
)

var errNoDevice = errors.New("no such device")

// device is an ibv_device. It stays while the process lives. Its engine starts when it is opened first, so that a list
// of devices costs nothing and children that are forked with one aren't harmed.
type device struct {
	at    uintptr
	name  string
	guid  [8]byte // in the order of the wire
	index int

	start   func() (*engine.Device, error)
	manager *cm.Manager // of its connections, once it has started
}

// deviceList is an array that ibv_get_device_list gives away.
type deviceList struct{}

var (
	devices     = newSlots[device, ibv.Device](config.MostVerbsDevices)
	deviceLists = newSlots[deviceList, [config.MostVerbsDevices + 1]uintptr](1 << 12)
	allDevices  = sync.OnceValues(makeDevices)
)

// makeDevices makes as many devices as the environment asks for.
func makeDevices() ([]*device, error) {
	settings, err := start()
	if err != nil {
		return nil, err
	}
	var list []*device
	for i := range int(settings.VerbsDevices) {
		d := &device{index: i, name: fmt.Sprintf("farside%d", i), guid: hostGUID(i)}
		d.start = onSuccess(d.startEngine)
		d.at, err = devices.insert(d, func(address uintptr) {
			c := at[ibv.Device](address)
			c.NodeType, c.TransportType = ibv.NODE_CA, ibv.TRANSPORT_IB
			copy(c.Name[:], d.name)
			copy(c.DevName[:], fmt.Sprintf("uverbs%d", i))
			copy(c.DevPath[:], fmt.Sprintf("/sys/class/infiniband_verbs/uverbs%d", i))
			copy(c.IBDevPath[:], "/sys/class/infiniband/"+d.name)
		})
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func (d *device) startEngine() (*engine.Device, error) {
	settings, err := start()
	if err != nil {
		return nil, err
	}
	plan, err := fault.For(settings, "rdma.")
	if err != nil {
		return nil, err
	}
	n, err := network.Open()
	if err != nil {
		return nil, err
	}
	guid := binary.BigEndian.Uint64(d.guid[:])
	e := engine.NewDevice(n, engine.Options{Name: d.name, GUID: guid, MTU: n.PortMTU(), Faults: plan,
		Late: finding.On(config.StrictRDMA)})
	d.manager = cm.NewManager(n.CM(guid))
	e.Manage(d.manager.Receive)
	n.OnGone(d.manager.Gone)
	return e, nil
}

// hostGUID is an EUI-64 that follows from the host's name and number, and is marked as one that nobody has assigned.
func hostGUID(index int) (guid [8]byte) {
	id, _ := fd.ReadFile("/etc/machine-id") // a machine without one has its name
	name, _ := os.Hostname()
	sum := sha256.Sum256(fmt.Appendf(nil, "farside %s %s %d", id, name, index))
	copy(guid[:], sum[:])
	guid[0] = guid[0]&^1 | 2 // not of a group, locally administered
	return guid
}

func getDeviceList(c *cabi.Call) {
	number := c.Args[0]
	if number != 0 {
		*at[int32](number) = 0
	}
	list, err := allDevices()
	if err != nil {
		logger.Error(err.Error(), "function", c.Name())
		c.Fail(errnoOf(err, unix.EINVAL))
		return
	}
	address, err := deviceLists.insert(&deviceList{}, func(address uintptr) {
		entries := array[uintptr](address, len(list)+1)
		for i, d := range list {
			entries[i] = d.at
		}
	})
	if err != nil {
		fail(c, unix.ENOMEM, err)
		return
	}
	if number != 0 {
		*at[int32](number) = int32(len(list))
	}
	c.Result = address
}

func freeDeviceList(c *cabi.Call) { deviceLists.remove(c.Args[0]) }

func getDeviceName(c *cabi.Call) {
	if d := devices.get(c.Args[0]); d != nil {
		c.Result = d.at + nameOffset
		return
	}
	fail(c, unix.EINVAL, errNoDevice)
}

func getDeviceGUID(c *cabi.Call) {
	if d := devices.get(c.Args[0]); d != nil {
		c.Result = uintptr(binary.NativeEndian.Uint64(d.guid[:]))
	}
}

func getDeviceIndex(c *cabi.Call) {
	if d := devices.get(c.Args[0]); d != nil {
		c.Result = uintptr(d.index)
		return
	}
	fail(c, unix.EINVAL, errNoDevice)
}

// sysfsPath is where the kernel shows devices; those of verbs are not there.
var sysfsPath = sync.OnceValue(func() *constants { return newConstants("/sys") })

// readSysfsFile is ibv_read_sysfs_file: directory, file, buffer, size. It returns the length of the text, which ends
// with a 0 in place of its last newline.
func readSysfsFile(c *cabi.Call) {
	name := text(c.Args[0], unix.PathMax) + "/" + text(c.Args[1], unix.PathMax)
	f, err := fd.Open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		fail(c, unix.ENOENT, err)
		return
	}
	defer f.Close()
	to := bytesAt(c.Args[2], min(c.Args[3], unix.PathMax))
	n, err := unix.Read(f.Int(), to)
	if err != nil {
		fail(c, unix.EIO, err)
		return
	}
	if n > 0 && to[n-1] == '\n' {
		n--
	}
	if n < len(to) {
		to[n] = 0
	}
	c.Result = uintptr(n)
}
