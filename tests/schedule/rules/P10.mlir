// refused
// high: %n
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %tile[%c0] : memref<16xf32, 3 : i32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: lower bound
// low: %n
%x = memref.load %a[%i] : memref<16xf32>
"gpu.barrier"() : () -> ()  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: divergent
%x = memref.load %a[%i] : memref<16xf32>
%q = arith.cmpi slt, %lane, %c2 : index
scf.if %q {
  "gpu.barrier"() : () -> ()  HERE
}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %tile[%c0] : memref<16xf32, 3 : i32>
"gpu.barrier"() : () -> ()
%y = memref.load %tile[%c0] : memref<16xf32, 3 : i32>
"gpu.barrier"() : () -> ()
%t = arith.addf %acc, %y : f32
scf.yield %t : f32

// accepted: workgroup read with open bounds
// high: %n
// before: memref.store %f0, %tile[%c0] : memref<16xf32, 3 : i32>
%x = memref.load %a[%i] : memref<16xf32>
%y = memref.load %tile[%c0] : memref<16xf32, 3 : i32>
%z = arith.addf %x, %y : f32
%t = arith.addf %acc, %z : f32
scf.yield %t : f32

// refused: staged with bounds that differ between lanes
// high: %lane
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %tile[%c0] {motif.staged} : memref<16xf32, 3 : i32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: staged with uniform bounds
// high: %n
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %tile[%c0] {motif.staged} : memref<16xf32, 3 : i32>
"gpu.barrier"() {motif.staged} : () -> ()
%y = memref.load %tile[%c0] : memref<16xf32, 3 : i32>
"gpu.barrier"() {motif.staged} : () -> ()
%t = arith.addf %acc, %y : f32
scf.yield %t : f32
