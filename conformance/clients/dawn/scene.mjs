// Renders with WebGPU, as Dawn implements it, and prints what has come out as a line of JSON: node scene.mjs MODULE
// MODULE is the npm package webgpu.
const { create, globals } = await import(process.argv[2]);
Object.assign(globalThis, globals);

const gpu = create(['backend=vulkan']);
const adapter = await gpu.requestAdapter();
if (!adapter) {
	console.error('Dawn takes none of the devices');
	process.exit(1);
}
const device = await adapter.requestDevice();
const errors = [];
device.onuncapturederror = (e) => errors.push(e.error.message);

const size = 64;
const target = (format, sampleCount, usage) => device.createTexture({ size: [size, size], format, sampleCount, usage });
const attachment = GPUTextureUsage.RENDER_ATTACHMENT;

// A texture with two levels: the first one is a checkerboard of red and green, the second one blue.
const texture = device.createTexture({ size: [16, 16], mipLevelCount: 2, format: 'rgba8unorm',
	usage: GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_DST });
for (const level of [0, 1]) {
	const n = 16 >> level, texels = new Uint8Array(n * n * 4);
	for (let i = 0; i < n * n; i++) {
		const odd = (i % n + Math.floor(i / n)) % 2;
		texels.set(level ? [0, 0, 255, 255] : odd ? [0, 255, 0, 255] : [255, 0, 0, 255], i * 4);
	}
	device.queue.writeTexture({ texture, mipLevel: level }, texels, { bytesPerRow: n * 4 }, [n, n]);
}

const module = device.createShaderModule({ code: `
	struct Out { @builtin(position) position : vec4f, @location(0) uv : vec2f, @location(1) @interpolate(flat) n : u32 };
	@group(0) @binding(0) var<uniform> shrink : f32;
	@group(0) @binding(1) var texels : texture_2d<f32>;
	@group(0) @binding(2) var filtered : sampler;
	@vertex fn corner(@location(0) at : vec2f, @location(1) place : vec3f, @builtin(instance_index) n : u32) -> Out {
		return Out(vec4f(at * 0.5 + place.xy, place.z, 1), (at + 1) * 16 * shrink, n);
	}
	@fragment fn pixel(in : Out) -> @location(0) vec4f {
		let colour = textureSample(texels, filtered, in.uv / 16);
		if (in.n == 3 && in.uv.x < 16) { discard; }
		return select(colour, vec4f(1, 1, 1, 0.5), in.n == 2 || in.n == 3);
	}` });
const buffer = (data, usage) => {
	const b = device.createBuffer({ size: data.byteLength, usage: usage | GPUBufferUsage.COPY_DST });
	device.queue.writeBuffer(b, 0, data);
	return b;
};
const corners = buffer(new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), GPUBufferUsage.VERTEX);
// Five squares: upper left, lower right, one behind that, one that is blended over half of the first one, and upper
// right, where the second level of the texture is due.
const places = buffer(new Float32Array([-0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0.5, -0.5, 0.75, -0.5, 0.5, 0.25, 0.5, 0.5, 0.5]),
	GPUBufferUsage.VERTEX);
const indices = buffer(new Uint16Array([0, 1, 2, 2, 1, 3]), GPUBufferUsage.INDEX);

const pipeline = device.createRenderPipeline({ layout: 'auto',
	vertex: { module, entryPoint: 'corner', buffers: [
		{ arrayStride: 8, attributes: [{ shaderLocation: 0, offset: 0, format: 'float32x2' }] },
		{ arrayStride: 12, stepMode: 'instance', attributes: [{ shaderLocation: 1, offset: 0, format: 'float32x3' }] }] },
	fragment: { module, entryPoint: 'pixel', targets: [{ format: 'rgba8unorm', blend: {
		color: { srcFactor: 'src-alpha', dstFactor: 'one-minus-src-alpha' }, alpha: { dstFactor: 'one' } } }] },
	depthStencil: { format: 'depth24plus', depthWriteEnabled: true, depthCompare: 'less' },
	multisample: { count: 4 }, primitive: { topology: 'triangle-list' } });
const group = (shrink) => device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries: [
	{ binding: 0, resource: { buffer: buffer(new Float32Array([shrink]), GPUBufferUsage.UNIFORM) } },
	{ binding: 1, resource: texture.createView() },
	{ binding: 2, resource: device.createSampler({ minFilter: 'nearest', magFilter: 'nearest', mipmapFilter: 'nearest',
		addressModeU: 'repeat', addressModeV: 'repeat' }) }] });

const samples = target('rgba8unorm', 4, attachment), depths = target('depth24plus', 4, attachment);
const picture = target('rgba8unorm', 1, attachment | GPUTextureUsage.COPY_SRC | GPUTextureUsage.TEXTURE_BINDING);
const encoder = device.createCommandEncoder();
const pass = encoder.beginRenderPass({
	colorAttachments: [{ view: samples.createView(), resolveTarget: picture.createView(), loadOp: 'clear',
		storeOp: 'discard', clearValue: [0, 0, 0, 1] }],
	depthStencilAttachment: { view: depths.createView(), depthLoadOp: 'clear', depthStoreOp: 'discard',
		depthClearValue: 1 } });
pass.setPipeline(pipeline);
pass.setBindGroup(0, group(1));
pass.setVertexBuffer(0, corners);
pass.setVertexBuffer(1, places);
pass.setIndexBuffer(indices, 'uint16');
pass.drawIndexed(6, 4);
pass.setBindGroup(0, group(2));
pass.drawIndexed(6, 1, 0, 0, 4);
pass.end();

// A compute pass counts the pixels of each of four colours.
const counting = device.createComputePipeline({ layout: 'auto', compute: { entryPoint: 'main',
	module: device.createShaderModule({ code: `
		@group(0) @binding(0) var picture : texture_2d<f32>;
		@group(0) @binding(1) var<storage, read_write> counts : array<atomic<u32>, 4>;
		@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) at : vec3u) {
			let c = textureLoad(picture, at.xy, 0);
			if (all(c.xyz == vec3f(1, 0, 0))) { atomicAdd(&counts[0], 1); }
			if (all(c.xyz == vec3f(0, 1, 0))) { atomicAdd(&counts[1], 1); }
			if (all(c.xyz == vec3f(0, 0, 1))) { atomicAdd(&counts[2], 1); }
			if (all(c.xyz == vec3f(0, 0, 0))) { atomicAdd(&counts[3], 1); }
		}` }) } });
const counts = device.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
const compute = encoder.beginComputePass();
compute.setPipeline(counting);
compute.setBindGroup(0, device.createBindGroup({ layout: counting.getBindGroupLayout(0),
	entries: [{ binding: 0, resource: picture.createView() }, { binding: 1, resource: { buffer: counts } }] }));
compute.dispatchWorkgroups(8, 8);
compute.end();

const reading = GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ;
const pixels = device.createBuffer({ size: size * 256, usage: reading });
const numbers = device.createBuffer({ size: 16, usage: reading });
encoder.copyTextureToBuffer({ texture: picture }, { buffer: pixels, bytesPerRow: 256 }, [size, size]);
encoder.copyBufferToBuffer(counts, 0, numbers, 0, 16);
device.queue.submit([encoder.finish()]);
await Promise.all([pixels.mapAsync(GPUMapMode.READ), numbers.mapAsync(GPUMapMode.READ)]);
console.log(JSON.stringify({ adapter: adapter.info.description, errors,
	counts: Array.from(new Uint32Array(numbers.getMappedRange())),
	picture: Buffer.from(pixels.getMappedRange()).toString('base64') }));
process.exit(0);
