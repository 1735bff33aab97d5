package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
	"farside/rdmasim"
)

// shaderMemory is RDMA memory as a storage buffer, and the word in which a shader counts.
type shaderMemory struct {
	d        *vulkan.Device
	buffers  [2]vk.Buffer
	memories [2]vk.DeviceMemory
	count    []byte
	address  uint64

	setLayout vk.DescriptorSetLayout
	layout    vk.PipelineLayout
	module    vk.ShaderModule
	pipeline  vk.Pipeline
	pool      vk.DescriptorPool
	set       vk.DescriptorSet
}

// shareShaders has a compute shader write what a peer reads by its remote address, and check what the peer answers.
func shareShaders(d *vulkan.Device) error {
	fmt.Println("By a compute shader, whose memory a peer reads by its remote address:")
	m := &shaderMemory{d: d}
	defer m.close()
	if err := m.allocate(size); err != nil {
		return err
	}
	if err := m.prepare(); err != nil {
		return err
	}
	if err := m.run(0); err != nil {
		return err
	}
	say("exporter", "a shader of %d invocations wrote RDMA memory; the remote address is %#x", size/4, m.address)
	reader := exec.Command("/proc/self/exe", "reader", fmt.Sprintf("%#x", m.address), fmt.Sprint(size))
	reader.Stdout, reader.Stderr = os.Stdout, os.Stderr
	if err := reader.Run(); err != nil {
		return fmt.Errorf("the reader: %w", err)
	}
	if err := m.run(1); err != nil {
		return err
	}
	if wrong := binary.NativeEndian.Uint32(m.count); wrong != 0 {
		return fmt.Errorf("the shader found %d words of the reader's answer wrong", wrong)
	}
	say("exporter", "the shader found every word of the reader's answer right")
	return nil
}

func (m *shaderMemory) allocate(n uint64) error {
	var arena vulkan.Arena
	defer arena.Close()
	external := vulkan.Struct[vk.ExternalMemoryBufferCreateInfo](&arena)
	external.HandleTypes = rdmaAddress
	for i, x := range []struct {
		size             uint64
		properties       vk.MemoryPropertyFlags
		buffer, allocate vulkan.Pointer
	}{
		{n, vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT | vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV, vulkan.Ptr(external),
			vulkan.ExportInfo(&arena, rdmaAddress, nil)},
		{4, vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_COHERENT_BIT, nil, nil},
	} {
		t, err := memoryType(m.d, x.properties)
		if err != nil {
			return err
		}
		var r vk.Result
		m.buffers[i], r = m.d.CreateUsageBuffer(x.size, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT|vulkan.Transfers, x.buffer)
		if r != vk.SUCCESS {
			return must("vkCreateBuffer", r)
		}
		if m.memories[i], r = m.d.Allocate(m.d.BufferRequirements(m.buffers[i]).Size, t, x.allocate); r != vk.SUCCESS {
			return must("vkAllocateMemory", r)
		}
		if r = m.d.BindBuffer(m.buffers[i], m.memories[i], 0); r != vk.SUCCESS {
			return must("vkBindBufferMemory", r)
		}
	}
	var err error
	if m.count, err = bytesOf(m.d, m.memories[1], 4); err != nil {
		return err
	}
	clear(m.count)
	address, r := m.d.RemoteAddress(m.memories[0], rdmaAddress)
	m.address = uint64(address)
	return must("vkGetMemoryRemoteAddressNV", r)
}

// prepare compiles the shader and makes what a dispatch needs.
func (m *shaderMemory) prepare() error {
	code, err := shaders.Source{Name: "demo/pattern.comp"}.Compile()
	if err != nil {
		return err
	}
	bindings := []vulkan.Binding{
		{Binding: 0, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1},
		{Binding: 1, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1},
	}
	var r vk.Result
	if m.module, r = m.d.CreateShaderModule(code); r != vk.SUCCESS {
		return must("vkCreateShaderModule", r)
	}
	if m.setLayout, r = m.d.CreateSetLayout(0, bindings...); r != vk.SUCCESS {
		return must("vkCreateDescriptorSetLayout", r)
	}
	if m.layout, r = m.d.CreatePipelineLayout(4, m.setLayout); r != vk.SUCCESS {
		return must("vkCreatePipelineLayout", r)
	}
	if m.pipeline, r = m.d.CreateComputePipeline(vulkan.PipelineConfig{Module: m.module, Layout: m.layout}); r !=
		vk.SUCCESS {
		return must("vkCreateComputePipelines", r)
	}
	if m.pool, r = m.d.CreateDescriptorPool(0, 1, bindings...); r != vk.SUCCESS {
		return must("vkCreateDescriptorPool", r)
	}
	sets, r := m.d.AllocateSets(m.pool, m.setLayout)
	if r != vk.SUCCESS {
		return must("vkAllocateDescriptorSets", r)
	}
	m.set = sets[0]
	for i, b := range m.buffers {
		m.d.WriteSet(m.set, vulkan.Descriptor{Binding: uint32(i), Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
			Buffer: vk.DescriptorBufferInfo{Buffer: b}})
	}
	return nil
}

func (m *shaderMemory) run(check byte) error {
	return must("dispatch", m.d.Submit(func(cb vk.CommandBuffer) {
		m.d.BindCompute(cb, m.pipeline)
		m.d.BindSets(cb, m.layout, 0, []vk.DescriptorSet{m.set})
		m.d.Push(cb, m.layout, 0, []byte{check, 0, 0, 0})
		m.d.Dispatch(cb, size/4/256, 1, 1)
		m.d.Barrier(cb)
	}))
}

func (m *shaderMemory) close() {
	m.d.DestroyDescriptorPool(m.pool)
	m.d.DestroyPipeline(m.pipeline)
	m.d.DestroyPipelineLayout(m.layout)
	m.d.DestroySetLayout(m.setLayout)
	m.d.DestroyShaderModule(m.module)
	for i := range m.buffers {
		m.d.DestroyBuffer(m.buffers[i])
		m.d.Free(m.memories[i])
	}
}

// reader is a peer that checks the pattern at a remote address, and answers.
func reader() error {
	if len(os.Args) != 4 {
		return errors.New("usage: reader ADDRESS BYTES")
	}
	address, err := strconv.ParseUint(os.Args[2], 0, 64)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	peer, err := rdmasim.Open(context.Background(), "")
	if err != nil {
		return err
	}
	defer peer.Close()
	b := make([]byte, n)
	if err := peer.Read(address, b); err != nil {
		return err
	}
	if err := check(b, pattern); err != nil {
		return fmt.Errorf("what the shader wrote: %w", err)
	}
	say("reader", "read %d bytes by their remote address: every one that the shader wrote is right", n)
	fill(b, answer)
	return peer.Write(address, b)
}
