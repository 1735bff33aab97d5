package spirv

// TypeKind is what a type is; the names are those of the OpType instructions.
type TypeKind uint8

const (
	TypeVoid TypeKind = iota + 1
	TypeBool
	TypeInt
	TypeFloat
	TypeVector
	TypeMatrix
	TypeArray
	TypeRuntimeArray
	TypeStruct
	TypePointer
	TypeImage
	TypeSampler
	TypeSampledImage
	TypeFunction
)

// Type is a type with everything that an implementation asks for, array lengths under the specialization included.
type Type struct {
	ID     ID
	Kind   TypeKind
	Width  uint32 // bits of an int or float
	Signed bool   // of an int
	// of a vector, matrix (its columns), array, pointer (the pointee), sampled image (its image), image (the sampled
	// type); of a function the result
	Elem    *Type
	Count   uint32       // of a vector, matrix, array
	Members []*Type      // of a struct; a function's parameters
	Class   StorageClass // of a pointer

	// Layout, in bytes, from the decorations; 0 where there are none.
	Stride  uint32         // ArrayStride of an array or pointer
	Layouts []MemberLayout // of a struct

	// Of an image, as OpTypeImage has them.
	Dim          Dim
	Depth        uint32
	Arrayed      bool
	Multisampled bool
	Sampled      uint32
	Format       ImageFormat

	extent extent
}

// MemberLayout is the layout of a member of a struct.
type MemberLayout struct {
	Offset       uint32
	MatrixStride uint32
	RowMajor     bool
}

// Constant is the value of a constant, of a null, or of an undefined object (all zero).
type Constant struct {
	Type     *Type
	Bits     uint64      // of a scalar: bool 0 or 1; ints zero-extended to 64 bits; floats as their bits
	Elements []*Constant // of a composite, as many as the type has
}

// Constants are the types and constants of a module under a specialization. They do not change.
type Constants struct {
	Types  []*Type     // by ID, as long as the module's bound; nil of what is none
	Values []*Constant // likewise
}
