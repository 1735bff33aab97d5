package vm

import (
	"fmt"
	"strconv"
	"strings"

	"farside/compute/internal/program"
	"farside/spirv"
)

// print sends a message of debugPrintf for each active lane.
func (w *worker) print(p *program.Print) {
	if w.run.Print == nil {
		return
	}
	for chunk := w.active.first; chunk < w.active.end; chunk++ {
		for lane, set := range w.activeMask(chunk) {
			if set != 0 {
				w.run.message(formatPrint(p.Format, w.arguments(p, chunk, lane)))
			}
		}
	}
}

// argument is a scalar or a vector that is printed.
type argument struct {
	scalar     *spirv.Type
	components []uint64 // as they lie in lanes
}

// arguments reads the arguments of a message in a lane.
func (w *worker) arguments(p *program.Print, chunk, lane int) []argument {
	values := make([]argument, len(p.Types))
	next := 0
	for i, t := range p.Types {
		n := 1
		values[i].scalar = t
		if t.Kind == spirv.TypeVector {
			n, values[i].scalar = int(t.Count), t.Elem
		}
		for _, r := range p.Args[next:min(next+n, len(p.Args))] {
			if r.Size == 64 {
				values[i].components = append(values[i].components, w.chunk64(r, chunk)[lane])
			} else {
				values[i].components = append(values[i].components, uint64(w.chunk32(r, chunk)[lane]))
			}
		}
		next += n
	}
	return values
}

// formatPrint formats a message as C's printf does, with %v and a count before the conversion for vectors. What does
// not fit its argument is printed as the argument's type wants it.
func formatPrint(format string, args []argument) string {
	var out strings.Builder
	for len(format) > 0 {
		i := strings.IndexByte(format, '%')
		if i < 0 || i+1 == len(format) {
			out.WriteString(format)
			break
		}
		out.WriteString(format[:i])
		format = format[i+1:]
		if format[0] == '%' {
			out.WriteByte('%')
			format = format[1:]
			continue
		}
		flags := len(format) - len(strings.TrimLeft(format, "-+ #0"))
		width := flags
		for width < len(format) && (format[width] == '.' || format[width] >= '0' && format[width] <= '9') {
			width++
		}
		options := limited(format[:width])
		format = format[width:]
		if len(format) > 1 && format[0] == 'v' && format[1] >= '2' && format[1] <= '4' {
			format = format[2:]
		}
		format = strings.TrimLeft(format, "lh")
		if format == "" {
			break
		}
		conversion := format[0]
		format = format[1:]
		if len(args) == 0 {
			out.WriteString("%" + string(rune(conversion)))
			continue
		}
		for i, bits := range args[0].components {
			if i > 0 {
				out.WriteString(", ")
			}
			out.WriteString(formatScalar(options, conversion, args[0].scalar, bits))
		}
		args = args[1:]
	}
	return out.String()
}

// limited is the options of a conversion, flags, width and precision, if the numbers in them are not absurd.
func limited(options string) string {
	for _, number := range strings.FieldsFunc(options, func(c rune) bool { return c < '0' || c > '9' }) {
		if n, err := strconv.Atoi(number); err != nil || n > 100 {
			return ""
		}
	}
	return options
}

func formatScalar(options string, conversion byte, t *spirv.Type, bits uint64) string {
	switch t.Kind {
	case spirv.TypeFloat:
		switch conversion {
		case 'e', 'E', 'f', 'F', 'g', 'G':
		default:
			conversion = 'f'
		}
		return fmt.Sprintf("%"+options+string(rune(conversion)), float(t, bits))
	case spirv.TypeBool:
		return fmt.Sprintf("%t", bits != 0)
	case spirv.TypePointer:
		return fmt.Sprintf("%#x", bits)
	}
	width := max(t.Width, 8)
	signed := int64(bits<<(64-width)) >> (64 - width)
	unsigned := uint64(signed) & (^uint64(0) >> (64 - width))
	switch conversion {
	case 'x', 'X', 'o', 'c':
	case 'p':
		return fmt.Sprintf("%#x", unsigned)
	case 'u':
		conversion = 'd'
	case 'd', 'i':
		return fmt.Sprintf("%"+options+"d", signed)
	default:
		conversion = 'd'
		if t.Signed {
			return fmt.Sprintf("%"+options+"d", signed)
		}
	}
	return fmt.Sprintf("%"+options+string(rune(conversion)), unsigned)
}
