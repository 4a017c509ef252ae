// SPDX-License-Identifier: Apache-2.0
//! Everything that the crate has, in numbers that tests/bindings/rust.sh knows.
use inferogram::{AsyncSpan, Category, Flow, Level, LoadState, Model, ModelOptions, Zone};

fn recursive(depth: u32) -> u32 {
    let _zone = inferogram::zone!("recursive");
    if depth > 0 {
        1 + recursive(depth - 1)
    } else {
        0
    }
}

fn main() {
    assert_eq!(recursive(4), 4);
    for i in 0..10 {
        let zone = Zone::named(&format!("work {}", i % 2));
        zone.text("a text").value(7).color(0xff0000);
        zone.detail("round", i)
            .detail("fill", 0.5)
            .detail("who", "me\0not");
    }
    for _ in 0..3 {
        let caught = std::panic::catch_unwind(|| {
            let _zone = inferogram::zone!("panics");
            std::panic::resume_unwind(Box::new(1));
        });
        assert!(caught.is_err());
    }

    let model = Model::with(&ModelOptions {
        name: "ocr",
        runtime: "test 1",
        ..Default::default()
    });
    model
        .event(Category::Load, "main")
        .load_state(LoadState::Cached);
    for _ in 0..4 {
        let _event = model.event(Category::Inference, "decode");
    }

    let flow = Flow::new("frame", 9);
    let span = AsyncSpan::new("fetch", 1);
    {
        let _zone = inferogram::zone!("produce");
        flow.begin();
    }
    std::thread::spawn(move || {
        inferogram::thread_name("consumer");
        let _zone = inferogram::zone!("consume");
        flow.end();
        drop(span);
    })
    .join()
    .unwrap();
    for i in 0..6 {
        inferogram::counter("depth", i.into());
        inferogram::frame("loop");
    }
    inferogram::message("done", Level::Warning);
    println!("{}", inferogram::is_recording());
}
