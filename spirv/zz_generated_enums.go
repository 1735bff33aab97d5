package spirv

type (
	Op              uint16
	Capability      uint32
	AddressingModel uint32
	MemoryModel     uint32
	ExecutionModel  uint32
	DecorationKind  uint32
	StorageClass    uint32
	Dim             uint32
	ImageFormat     uint32
	BuiltIn         uint32
	GroupOperation  uint32
)
