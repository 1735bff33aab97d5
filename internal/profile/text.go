package profile

import (
	"fmt"
	"strconv"
	"strings"

	"farside/internal/vk"
)

// textReader reads the text that vulkaninfo writes without options. Its structure is its indentation, by tabs:
//
//	GPU0:
//	VkPhysicalDeviceLimits:
//	-----------------------
//		maxImageDimension1D = 32768
//		framebufferColorSampleCounts: count = 2
//			SAMPLE_COUNT_1_BIT
//			SAMPLE_COUNT_4_BIT
type textReader struct {
	lines   []textLine
	at      int
	device  *Device
	devices []*Device
}

type textLine struct {
	indent int
	key    string // before " = ", ":" or " : "
	value  string
	list   bool // KEY: count = N, or KEY: alone
	number int
}

// parseText reads all devices of a text.
func parseText(data []byte) ([]*Device, error) {
	r := &textReader{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimRight(line, "\r\n \t")
		body := strings.TrimLeft(line, "\t")
		if body == "" || strings.Trim(body, "=-") == "" {
			continue
		}
		r.lines = append(r.lines, readLine(len(line)-len(body), body, number))
	}
	for r.at < len(r.lines) {
		if err := r.section(); err != nil {
			return nil, err
		}
	}
	if r.devices == nil {
		return nil, errorf("the text of vulkaninfo has no GPU0:")
	}
	for i, d := range r.devices {
		for _, part := range []struct {
			name    string
			missing bool
		}{
			{"VkPhysicalDeviceProperties", d.Version() == 0}, {"memoryHeaps", d.Heaps == nil},
			{"memoryTypes", d.Types == nil}, {"VkQueueFamilyProperties", d.Families == nil},
		} {
			if part.missing {
				return nil, errorf("GPU%d has no %s: save what vulkaninfo prints without options, to the end", i, part.name)
			}
		}
	}
	return r.devices, nil
}

func readLine(indent int, body string, number int) textLine {
	l := textLine{indent: indent, number: number}
	if key, value, ok := strings.Cut(body, " = "); ok && !strings.HasSuffix(strings.TrimSpace(key), ": count") {
		l.key, l.value = strings.TrimSpace(key), strings.TrimSpace(value)
		if rest, _, ok := strings.Cut(l.key, ":"); ok { // propertyFlags = 0x0001: count = 1 has it behind the number
			l.key = rest
		}
		if value, _, ok := strings.Cut(l.value, ": count"); ok {
			l.value, l.list = value, true
		}
		l.value = strings.TrimSuffix(l.value, ":")
		return l
	}
	key, value, ok := strings.Cut(body, ":")
	l.key, l.value = strings.TrimSpace(key), strings.TrimSpace(value)
	l.list = ok && (l.value == "" || strings.HasPrefix(l.value, "count"))
	return l
}

// section reads what is at the left margin, and what is indented below it.
func (r *textReader) section() error {
	l := r.lines[r.at]
	r.at++
	begin := r.at
	for r.at < len(r.lines) && r.lines[r.at].indent > l.indent {
		r.at++
	}
	body := r.lines[begin:r.at]
	name := l.key
	if digits, ok := strings.CutPrefix(name, "GPU"); ok && l.list && isNumber(digits) {
		r.device = newDevice(true)
		r.devices = append(r.devices, r.device)
		return nil
	}
	if r.device == nil {
		return nil // of the instance
	}
	switch {
	case name == "Device Extensions":
		for _, e := range body {
			_, revision, _ := strings.Cut(e.value, "revision ")
			n, err := strconv.ParseUint(strings.TrimSpace(revision), 10, 32)
			if err != nil {
				return errorf("line %d: extension %s has no revision", e.number, clip(e.key))
			}
			r.device.extension(e.number, e.key, uint32(n))
		}
	case name == "VkQueueFamilyProperties":
		return r.device.textFamilies(body)
	case name == "VkPhysicalDeviceMemoryProperties":
	case name == "memoryHeaps":
		return r.device.textHeaps(body)
	case name == "memoryTypes":
		return r.device.textTypes(body)
	case strings.HasPrefix(name, "VkPhysicalDevice") && strings.Contains(name, "Features"):
		return r.device.textFeatures(name, l.number, body)
	case strings.HasPrefix(name, "VkPhysicalDevice"):
		return r.device.textProperties(canonical(name), l.number, body)
	}
	return nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func (d *Device) textFeatures(name string, line int, body []textLine) error {
	if registry().features[canonical(name)] == nil && name != "VkPhysicalDeviceFeatures" {
		d.note(line, unknown("structure of features", name, nil))
		return nil
	}
	d.Reported[canonical(name)] = true
	for _, l := range body {
		n, err := boolean.readWord(l.value)
		if err != nil {
			return errorf("line %d: %s.%s: %q is neither true nor false", l.number, name, clip(l.key), clip(l.value))
		}
		d.feature(canonical(name), l.key, n != 0)
	}
	return nil
}

func (d *Device) textProperties(name string, line int, body []textLine) error {
	if registry().byName[name] == nil {
		d.note(line, unknown("structure of properties", name, nil))
		return nil
	}
	for i := 0; i < len(body); i++ {
		l := body[i]
		end := i + 1
		for end < len(body) && body[end].indent > l.indent {
			end++
		}
		inner := body[i+1 : end]
		i = end - 1
		var err error
		switch m := registry().members[name+"."+l.key]; {
		case m == nil && l.list && len(inner) > 0 && inner[0].value != "": // a structure in the structure
			for _, k := range inner {
				if err = d.read(k.number, name+"."+l.key+"."+k.key, []string{k.value}); err != nil {
					return err
				}
			}
		case l.list:
			words := []string{}
			for _, k := range inner {
				if k.key != "None" {
					words = append(words, k.key)
				}
			}
			err = d.read(l.number, name+"."+l.key, words)
		default:
			err = d.read(l.number, name+"."+l.key, textWords(m, l.value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// textWords splits a value: a tuple such as (1,1,1), or one word.
func textWords(m *member, value string) []string {
	if m != nil && m.count > 1 && m.kind != kindText && m.size > 1 {
		return strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune("(), ", c) })
	}
	if m != nil && m.kind == kindUint && !strings.HasSuffix(m.name, "Version") {
		value, _, _ = strings.Cut(value, " ") // 150754820096 (0x2319b00000) (140.40 GiB)
	}
	return []string{value}
}

// children calls f with each line of the outermost level, and with what is indented below it.
func children(body []textLine, f func(l textLine, inner []textLine) error) error {
	for i := 0; i < len(body); {
		end := i + 1
		for end < len(body) && body[end].indent > body[i].indent {
			end++
		}
		if err := f(body[i], body[i+1:end]); err != nil {
			return err
		}
		i = end
	}
	return nil
}

func (d *Device) textFamilies(body []textLine) error {
	d.Families = []Family{}
	return children(body, func(l textLine, inner []textLine) error {
		if !strings.HasPrefix(l.key, "queueProperties[") {
			return nil
		}
		f := Family{TimestampBits: 64, Granularity: [3]uint32{1, 1, 1}}
		err := children(inner, func(l textLine, _ []textLine) (err error) {
			n := uint64(0)
			switch l.key {
			case "queueCount":
				n, err = strconv.ParseUint(l.value, 0, 32)
				f.Count = uint32(n)
			case "timestampValidBits":
				n, err = strconv.ParseUint(l.value, 0, 32)
				f.TimestampBits = uint32(n)
			case "minImageTransferGranularity":
				_, err = fmt.Sscanf(l.value, "(%d,%d,%d)", &f.Granularity[0], &f.Granularity[1], &f.Granularity[2])
			case "queueFlags":
				f.Flags = textQueueFlags(l.value)
			}
			if err != nil {
				return errorf("line %d: %s: %q is not a number", l.number, l.key, clip(l.value))
			}
			return nil
		})
		d.Families = append(d.Families, f)
		return err
	})
}

// textQueueFlags reads "QUEUE_GRAPHICS | QUEUE_TRANSFER". Some versions cut a name's end off; such a flag is none that
// queues here have.
func textQueueFlags(value string) vk.QueueFlags {
	var flags vk.QueueFlags
	for word := range strings.SplitSeq(value, "|") {
		if bits, err := flagsOf("VkQueueFlagBits", []string{word}); err == nil {
			flags |= vk.QueueFlags(bits)
		}
	}
	return flags
}

func (d *Device) textHeaps(body []textLine) error {
	d.Heaps = []Heap{}
	return children(body, func(l textLine, inner []textLine) error {
		var h Heap
		err := children(inner, func(l textLine, inner []textLine) (err error) {
			switch l.key {
			case "size":
				word, _, _ := strings.Cut(l.value, " ")
				if h.Size, err = strconv.ParseUint(word, 0, 64); err != nil {
					return errorf("line %d: size: %q is not a number", l.number, clip(l.value))
				}
			case "flags":
				bits, err := flagsOf("VkMemoryHeapFlagBits", names(inner))
				if err != nil {
					return fmt.Errorf("line %d: %w", l.number, err)
				}
				h.Flags = vk.MemoryHeapFlags(bits)
			}
			return nil
		})
		d.Heaps = append(d.Heaps, h)
		return err
	})
}

// names are the lines of a list, without None.
func names(list []textLine) []string {
	words := []string{}
	for _, l := range list {
		if l.key != "None" {
			words = append(words, l.key)
		}
	}
	return words
}

func (d *Device) textTypes(body []textLine) error {
	d.Types = []Type{}
	return children(body, func(l textLine, inner []textLine) error {
		t := Type{Optimal: true, Linear: true}
		err := children(inner, func(l textLine, inner []textLine) error {
			switch l.key {
			case "heapIndex":
				n, err := strconv.ParseUint(l.value, 0, 32)
				if err != nil {
					return errorf("line %d: heapIndex: %q is not a number", l.number, clip(l.value))
				}
				t.Heap = uint32(n)
			case "propertyFlags":
				word, _, _ := strings.Cut(l.value, " ")
				n, err := strconv.ParseUint(strings.TrimSuffix(word, ":"), 0, 32)
				if err != nil {
					return errorf("line %d: propertyFlags: %q is not a number", l.number, clip(l.value))
				}
				t.Flags = vk.MemoryPropertyFlags(n)
			case "usable for":
				return children(inner, func(l textLine, inner []textLine) error {
					switch usable := len(names(inner)) > 0; l.key {
					case "IMAGE_TILING_OPTIMAL":
						t.Optimal = usable
					case "IMAGE_TILING_LINEAR":
						t.Linear = usable
					}
					return nil
				})
			}
			return nil
		})
		d.Types = append(d.Types, t)
		return err
	})
}
