use sandbox::*;
use std::sync::Arc;
struct S;
#[async_trait::async_trait]
impl Services for S {
    fn now_ms(&self) -> f64 {
        1_700_000_000_000.0
    }
    fn fill_random(&self, b: &mut [u8]) {
        b.fill(7)
    }
    async fn db_get(&self, _k: &str) -> Result<Option<String>, ServiceError> {
        Ok(Some("41".into()))
    }
    async fn flush(&self, _w: Vec<Write>) -> Result<(), ServiceError> {
        Ok(())
    }
    fn credentials(&self, _p: &str) -> Option<String> {
        None
    }
    fn reply(&self, r: Reply) {
        println!("{r:?}")
    }
    fn observe(&self, _l: &LogLine) {}
    async fn fetch(&self, _r: FetchRequest) -> Result<FetchResponse, FetchError> {
        Err(FetchError { code: "x".into(), message: "y".into() })
    }
}
#[tokio::test]
async fn smoke() {
    let t = std::time::Instant::now();
    let s = Sandbox::open(Config::default()).await.unwrap();
    println!("open {:?}", t.elapsed());
    for src in [
        "module.exports={name:'x',version:'1',props:{db:'$.service.db'}, async run(e){ this.$emit({a:e.x+1},{id:1,ts:5}); console.log('hi',{a:[1,2,{b:3}]}, new Error('x').message); await new Promise(r=>setTimeout(r,20)); this.db.set('k', this.db.get('k')+1); console.log(this.db.get('k'), Math.random(), Date.now()); }}",
        "module.exports={name:'x',version:'1', run(e){\n  function f(){ throw new TypeError('no') }\n f() }}",
        "module.exports={name:'x',version:'1', run(e){ function f(){ return f()+1 } f() }}",
        "module.exports={name:'x',version:'1', run(e){ return new Promise(()=>{}) }}",
        "module.exports={name:'x',version:'1', run(e){ for(;;); }}",
        "module.exports={name:'x',version:'1', run(e){ const a=[]; for(;;) a.push('x'.repeat(1000)+a.length); }}",
        "module.exports={name:'x',version:'1',\n run(e){ ( }}",
        "\n throw new Error('top')",
        "module.exports=5",
    ] {
        let t = std::time::Instant::now();
        let b = match s.build(Arc::new(Program::single("component.js", src)), Limits::default()).await {
            Ok(b) => b,
            Err(e) => {
                println!("LOAD {e} {e:?}");
                continue;
            }
        };
        println!("build {:?} {}", t.elapsed(), b.description);
        let t = std::time::Instant::now();
        let o = s
            .run(
                &b.image,
                Task {
                    lane: "t",
                    call: r#"{"kind":"run","event":{"x":1}}"#,
                    limits: Limits { fuel: 3_000_000_000, ..Limits::default() },
                },
                Arc::new(S),
            )
            .await
            .unwrap();
        println!("run {:?} {o:#?}", t.elapsed());
    }
}
