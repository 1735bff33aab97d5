package icd

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"farside/internal/vk"
)

// handleKinds are the types of handles, as structures have them.
var handleKinds = sync.OnceValue(func() map[reflect.Type]vk.ObjectType {
	return map[reflect.Type]vk.ObjectType{
		reflect.TypeFor[vk.DeviceMemory]():        vk.OBJECT_TYPE_DEVICE_MEMORY,
		reflect.TypeFor[vk.Buffer]():              vk.OBJECT_TYPE_BUFFER,
		reflect.TypeFor[vk.Image]():               vk.OBJECT_TYPE_IMAGE,
		reflect.TypeFor[vk.ImageView]():           vk.OBJECT_TYPE_IMAGE_VIEW,
		reflect.TypeFor[vk.BufferView]():          vk.OBJECT_TYPE_BUFFER_VIEW,
		reflect.TypeFor[vk.Fence]():               vk.OBJECT_TYPE_FENCE,
		reflect.TypeFor[vk.Semaphore]():           vk.OBJECT_TYPE_SEMAPHORE,
		reflect.TypeFor[vk.ShaderModule]():        vk.OBJECT_TYPE_SHADER_MODULE,
		reflect.TypeFor[vk.PipelineLayout]():      vk.OBJECT_TYPE_PIPELINE_LAYOUT,
		reflect.TypeFor[vk.Pipeline]():            vk.OBJECT_TYPE_PIPELINE,
		reflect.TypeFor[vk.CommandPool]():         vk.OBJECT_TYPE_COMMAND_POOL,
		reflect.TypeFor[vk.DescriptorPool]():      vk.OBJECT_TYPE_DESCRIPTOR_POOL,
		reflect.TypeFor[vk.DescriptorSet]():       vk.OBJECT_TYPE_DESCRIPTOR_SET,
		reflect.TypeFor[vk.DescriptorSetLayout](): vk.OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT,
		reflect.TypeFor[vk.QueryPool]():           vk.OBJECT_TYPE_QUERY_POOL,
		reflect.TypeFor[vk.SurfaceKHR]():          vk.OBJECT_TYPE_SURFACE_KHR,
		reflect.TypeFor[vk.SwapchainKHR]():        vk.OBJECT_TYPE_SWAPCHAIN_KHR,
	}
})

// objectOf is the object that an argument of a command's function stands for.
func objectOf(a any) (object, bool) {
	switch o := a.(type) {
	case *instance:
		return object{vk.OBJECT_TYPE_INSTANCE, uint64(o.handle)}, true
	case *physicalDevice:
		return object{vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(o.handle)}, true
	case *device:
		return object{vk.OBJECT_TYPE_DEVICE, uint64(o.handle)}, true
	case *queue:
		return object{vk.OBJECT_TYPE_QUEUE, uint64(o.handle)}, true
	case *commandBuffer:
		return object{vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(o.handle)}, true
	case *descriptorSet:
		return object{vk.OBJECT_TYPE_DESCRIPTOR_SET, uint64(o.handle)}, true
	case *surface:
		if o != nil {
			return o.object(), true
		}
	case resident:
		if !reflect.ValueOf(o).IsNil() { // of VK_NULL_HANDLE
			return object{o.objectType(), o.base().handle}, true
		}
	}
	return object{}, false
}

// objects are those among the arguments, and those that the structures name to which the arguments point.
func (c *call) objects() iter.Seq[object] {
	return func(yield func(object) bool) {
		for _, a := range c.args {
			if o, ok := objectOf(a); ok && !yield(o) {
				return
			}
		}
		for field := range c.fields() {
			kind, ok := handleKinds()[field.Type()]
			if ok && field.Uint() != 0 && !yield(object{kind, field.Uint()}) {
				return
			}
		}
	}
}

// handleTypes are the types of external handles that a call names, each as VK_EXTERNAL_…|VK_EXTERNAL_….
func (c *call) handleTypes() iter.Seq[string] {
	return func(yield func(string) bool) {
		is := func(t reflect.Type) bool {
			return strings.HasPrefix(t.Name(), "External") && strings.Contains(t.Name(), "HandleType")
		}
		for _, a := range c.args {
			if t := reflect.TypeOf(a); t.Kind() == reflect.Uint32 && is(t) && !yield(fmt.Sprint(a)) {
				return
			}
		}
		for field := range c.fields() {
			if is(field.Type()) && !yield(fmt.Sprint(field.Interface())) {
				return
			}
		}
	}
}

// fields are the members that hold numbers of the structures to which the arguments point, and of those in their chains
// that name objects or types of handles. They are read in place, one by one: others may hold anything.
func (c *call) fields() iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		members := func(s reflect.Value) bool {
			for n := range s.NumField() {
				if k := s.Type().Field(n).Type.Kind(); (k == reflect.Uint32 || k == reflect.Uint64) &&
					s.Type().Field(n).IsExported() && !yield(s.Field(n)) {
					return false
				}
			}
			return true
		}
		for at := range c.structures() {
			if !members(at) {
				return
			}
			next := at.FieldByName("PNext")
			if !next.IsValid() || next.Kind() != reflect.UnsafePointer {
				continue
			}
			for _, find := range chained {
				if s := find(next.UnsafePointer()); !s.IsNil() && !members(s.Elem()) {
					return
				}
			}
		}
	}
}

// structures are those to which the arguments point; of an array, all elements.
func (c *call) structures() iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		for n, a := range c.args {
			v := reflect.ValueOf(a)
			if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem().Kind() != reflect.Struct ||
				!strings.HasSuffix(v.Type().Elem().PkgPath(), "internal/vk") {
				continue
			}
			count := uint32(1)
			if n > 0 {
				if before, ok := c.args[n-1].(uint32); ok {
					count = before // the number of elements stands in front of them in all commands
				}
			}
			list := reflect.SliceAt(v.Type().Elem(), v.UnsafePointer(), int(count))
			for i := range list.Len() {
				if !yield(list.Index(i)) {
					return
				}
			}
		}
	}
}

// found is a structure in a chain, or a nil pointer.
func found[T any, P interface {
	*T
	StructureType() vk.StructureType
}](next unsafe.Pointer) reflect.Value {
	return reflect.ValueOf(vk.Find[T, P](next))
}

// chained are the structures in chains that name objects or types of external handles.
var chained = []func(next unsafe.Pointer) reflect.Value{
	found[vk.MemoryDedicatedAllocateInfo], found[vk.ExportMemoryAllocateInfo], found[vk.ExportMemoryAllocateInfoNV],
	found[vk.ImportMemoryFdInfoKHR], found[vk.ImportMemoryHostPointerInfoEXT],
	found[vk.ExternalMemoryBufferCreateInfo], found[vk.ExternalMemoryImageCreateInfo],
	found[vk.ExternalMemoryImageCreateInfoNV], found[vk.PhysicalDeviceExternalImageFormatInfo],
	found[vk.ExportFenceCreateInfo], found[vk.ExportSemaphoreCreateInfo],
}

// counted are the pointers of a call to a number of elements and to the elements.
func (c *call) counted() (number reflect.Value, elements unsafe.Pointer) {
	for n, a := range c.args[:len(c.args)-1] {
		switch a.(type) {
		case *uint32, *uintptr:
			if v := reflect.ValueOf(a); !v.IsNil() {
				switch next := c.args[n+1].(type) {
				case unsafe.Pointer:
					return v.Elem(), next
				default:
					return v.Elem(), reflect.ValueOf(next).UnsafePointer()
				}
			}
		}
	}
	return reflect.Value{}, nil
}

// wantsElements says whether a call asks for elements, and not only for their number.
func (c *call) wantsElements() bool {
	number, elements := c.counted()
	return number.IsValid() && elements != nil
}

// noElements says that none of the elements was written that a call asks for.
func (c *call) noElements() {
	if number, _ := c.counted(); number.IsValid() {
		number.SetUint(0)
	}
}
