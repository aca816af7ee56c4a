"""How each command is called, for the end of its help."""

from __future__ import annotations

EXAMPLES = {
    "show": """
relayout show htp:R4Crouton --shape 1,9,9,40
relayout show 'bf16[16,256]{1,0:T(8,128)(2,1)}'
""",
    "at": """
relayout at nChw8c 0,9,0,0 --shape 1,16,4,4
relayout at '(3,4):(4,1)' --offset 6
""",
    "draw": """
relayout draw htp:R4Crouton --shape 1,9,9,40 --at n=0,c=0 -o crouton.svg
relayout draw '(4,8):(8,1)' --view both --color coordinate
relayout draw '(4,8):(8,1)' '(4,8):(1,4)' --difference
relayout draw '(6,8):(8,1)' 3,2 --op divide
relayout draw '((4,8),2):((16,1),8)' --tile 8,8
relayout draw '(8,8):(8,1)' 'Sw<3,0,3> o 0 o (8,8):(8,1)' --html > both.html
""",
    "catalog": """
relayout catalog crouton
relayout catalog 'tensorrt:*'
relayout catalog htp:R4Crouton
""",
    "explore": """
relayout explore
relayout explore htp:R4Crouton --shape 1,10,13,32
""",
    "translate": """
relayout translate 'bf16[16,256]{1,0:T(8,128)(2,1)}'
relayout translate nChw8c --shape 1,16,4,4 --to cute
""",
    "compare": """
relayout compare nChw8c NCHW8c
relayout compare nChw8c cudnn:NHWC --shape 1,16,4,4
relayout compare '(3,4):(4,1)' 'f32[3,4]{1,0}'
""",
    "check": """
relayout check
relayout check kernels/layouts.toml npu/layouts.toml
relayout check --json
""",
    "infer": """
relayout infer act.npy
relayout infer dump.bin --like act.npy
relayout infer dump.bin --like act.npy --axes nhwc \\
    --try htp:R4Crouton --try nhwc
""",
    "explain": """
relayout explain htp:R4Crouton --shape 1,3,5,30
relayout explain RL006
""",
    "audit": """
relayout audit module_0001.cpu_after_optimizations.txt
ONEDNN_VERBOSE=1 python model.py | relayout audit -
relayout audit model.optimized.onnx profile.json --html audit.html
relayout audit kernel.ttgir --json
relayout audit after.txt --fail-over 10%
relayout audit --diff before.txt after.txt
""",
    "compose": """
relayout compose '(6,2):(8,2)' '(4,3):(3,1)'
""",
    "divide": """
relayout divide '(8,8):(8,1)' 4,2
""",
    "product": """
relayout product '(2,2):(1,2)' '(3,4):(4,1)' --form blocked
""",
    "invert": """
relayout invert '(3,4):(4,1)'
""",
    "complement": """
relayout complement '4:2' --size 24
""",
    "coalesce": """
relayout coalesce '(2,(1,6)):(1,(7,2))'
""",
    "banks": """
relayout banks '(32,32):(32,1)' ld.shared.b32 columns --dtype float32
relayout banks '(32,32):(33,1)' ld.shared.b32 '32:1' --dtype float32 --draw
relayout banks smem:K_SW128 ldmatrix.x4 columns --dtype float16
relayout banks 'f16[64,64]{1,0}' ds_read_b128 columns --arch gfx942
""",
    "sectors": """
relayout sectors '(32,64):(64,1)' '((16,2),4):((128,1),32)' --dtype float32
relayout sectors '(32,64):(64,1)' '32:32' --dtype float32 --base 16
""",
    "advise": """
relayout advise 32x32 --dtype float32 --access st.shared.b32 rows \\
    --access ld.shared.b32 columns
relayout advise 128x64 --dtype float16 --access cp.async.16 rows \\
    --access '4*ldmatrix.x4' columns --budget 16384
relayout advise 64x64 --dtype float16 --arch gfx942 \\
    --access ds_write_b64 rows --access ds_read_b64 columns
""",
    "atoms": """
relayout atoms mma.m16n8k16.f32.f16.f16.f32
relayout atoms 'mma.*.f64'
""",
    "inspect": """
relayout inspect model.safetensors
relayout inspect dump.bin --dtype uint8 --shape 1,9,9,40 \\
    --from htp:R4Crouton
""",
    "repack": """
relayout repack act.npy packed.safetensors --to htp:R4Crouton --verify
relayout repack packed.safetensors back.npy
relayout repack model.safetensors out.safetensors --to nhwc --axes nchw \\
    --only 'conv*' --dry-run
""",
    "reshard": """
relayout reshard model/ tp8/ --to tp=8 --verify
relayout reshard tp8/ tp2/ --to tp=2
""",
    "verify": """
relayout verify act.npy packed.safetensors
""",
    "code": """
relayout code nchw nChw8c --dtype float32 --axes nchw
relayout code nchw htp:R4Crouton --dtype uint8 --axes nchw \\
    --target cuda --shape 1,40,9,9
relayout code nChw8c --target rust --shape 1,20,3,3
""",
    "mcp": """
claude mcp add relayout -- relayout mcp
relayout mcp --seconds 60
""",
}
"""For each command the lines that a reader may take as they are, with names of files of their own."""
