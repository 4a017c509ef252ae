// SPDX-License-Identifier: Apache-2.0
//! Where libinferogram is: INFEROGRAM_LIB_DIR, or what pkg-config says.
use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=INFEROGRAM_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    if env::var_os("CARGO_FEATURE_DISABLE").is_some() {
        return;
    }
    if let Ok(folder) = env::var("INFEROGRAM_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
    } else {
        let found = Command::new("pkg-config")
            .args(["--libs-only-L", "inferogram"])
            .output();
        match found {
            Ok(output) if output.status.success() => {
                for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
                    println!("cargo:rustc-link-search=native={}", word.trim_start_matches("-L"));
                }
            }
            _ => println!("cargo:warning=pkg-config does not know inferogram; install libinferogram-dev or set INFEROGRAM_LIB_DIR"),
        }
    }
    println!("cargo:rustc-link-lib=dylib=inferogram");
}
