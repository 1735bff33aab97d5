// Package sampling is what shaders do to images: reads, writes and atomics of texels, filtered samples, gathers and
// queries, through views and samplers. It knows no handles.
package sampling

// View is a VkImageView or a VkBufferView as a shader sees it.
type View struct{}

// Sampler is a VkSampler.
type Sampler struct{}
