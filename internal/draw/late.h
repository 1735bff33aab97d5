// What tests of shaded quads have in common (depth_amd64.s, octets_amd64.s).

// LATE is a field of a latePlan, of which DI has the depthPlan.
#define LATE(field) (field-latePlan_depthPlan)(DI)

// PLACE adds where the first pixel of a quad is, of a layer of the primitive at DX, to an address.
#define PLACE(layerPitch, rowPitch, texelPitch, to) \
	MOVL prim_layer(DX), AX \
	IMULQ LATE(layerPitch), AX \
	ADDQ AX, to \
	MOVLQSX quad_y(SI), AX \
	IMULQ rowPitch(DI), AX \
	ADDQ AX, to \
	MOVLQSX quad_x(SI), AX \
	IMULQ texelPitch(DI), AX \
	ADDQ AX, to

// TEXELS finds the primitive of a quad, and where the first pixel's depth and stencil are.
#define TEXELS(plain) \
	MOVLQSX quad_prim(SI), DX \
	IMULQ $prim__size, DX \
	ADDQ prims+24(FP), DX \
	MOVQ LATE(latePlan_texel), BX \
	PLACE(latePlan_layerPitch, depthPlan_rowPitch, depthPlan_texelPitch, BX) \
	CMPB depthPlan_stencils(DI), $0 \
	JEQ plain \
	MOVQ LATE(latePlan_stencilTexel), R14 \
	PLACE(latePlan_stencilLayerPitch, depthPlan_stencilPitch, depthPlan_samples, R14) \
	MOVBLZX prim_back(DX), AX \
	IMULQ $stencilFace__size, AX \
	ADDQ LATE(latePlan_faces), AX \
	MOVQ AX, depthPlan_face(DI)
