// What the tests of IREE compile: a module that its source does not name.
func.func @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Takes as long as it is told to.
func.func @spin(%rounds: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %factor = arith.constant 6364136223846793005 : i64
  %sum = scf.for %i = %zero to %rounds step %one iter_args(%at = %one) -> (i64) : i64 {
    %next = arith.muli %at, %factor : i64
    %shifted = arith.xori %next, %i : i64
    scf.yield %shifted : i64
  }
  return %sum : i64
}
