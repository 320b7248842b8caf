"""Packs the tests of GPU devices for a machine without Rust: `python3 bench/kit.py [--release]` builds the tests and the
command, and writes `target/kit` with a script `run.sh`, which runs everything there. A part that exceeds its time limit is stopped:

    bash target/kit/run.sh            # tests, devices and their rates, attention

The folder contains Vulkan's loader (`libvulkan.so.1` of this machine). If no driver is registered, as on servers with NVIDIA GPUs
and no display, the script registers `libEGL_nvidia.so.0` with the loader.
"""

import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KIT = ROOT / "target" / "kit"
# Package and target of every packed executable, with its name in the kit.
TESTS = {
    ("gradus-wgpu", "catalog"): "catalog",
    ("gradus-wgpu", "device"): "device",
    ("gradus-gpu", "tests"): "kernels",
}
BINARIES = {("gradus-cli", "gradus"): "gradus"}
EXAMPLES = {("gradus-gpu", "speed"): "speed"}
LOADERS = ["/usr/lib/x86_64-linux-gnu/libvulkan.so.1", "/usr/lib/aarch64-linux-gnu/libvulkan.so.1"]

RUN = r"""#!/usr/bin/env bash
# Runs the kit. The last lines are a table: part, exit status, seconds.
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
export LD_LIBRARY_PATH="$PWD${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" GRADUS_KIT="${GRADUS_KIT:-full}" WGPU_BACKEND=vulkan
# Kernels are cached in this folder only.
export XDG_CACHE_HOME="$PWD/cache"
if [ -z "${VK_DRIVER_FILES:-}" ] && ! ls /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json >/dev/null 2>&1; then
    driver=$(ldconfig -p 2>/dev/null | awk '/libEGL_nvidia.so.0/ { print $NF; exit }')
    [ -n "$driver" ] || driver=$(find / -name libEGL_nvidia.so.0 -not -path '/proc/*' 2>/dev/null | head -1)
    printf '{"file_format_version":"1.0.1","ICD":{"library_path":"%s","api_version":"1.3.0"}}\n' "$driver" >icd.json
    export VK_DRIVER_FILES="$PWD/icd.json"
fi
table=""
part() { # name, limit in seconds, command
    local name=$1 limit=$2 start=$SECONDS status
    shift 2
    echo "== $name"
    timeout "$limit" "$@" 2>&1 | tail -${LINES_SHOWN:-40}
    status=${PIPESTATUS[0]}
    table+="$(printf '%-44s %4s %5s s' "$name" "$status" $((SECONDS - start)))"$'\n'
}
part "devices" 60 ./gradus devices --measure
for test in every_op derivatives_of_every_op every_composite_and_its_gradient random_graphs_with_loops; do
    part "catalog: $test" 200 ./catalog --exact "$test" --nocapture
done
part "device tests" 120 ./device --test-threads 1
part "kernels" 120 ./kernels kernels:: attention::
part "attention of 1024 tokens" 60 ./speed 1024
part "attention of 4096 tokens" 60 ./speed 4096
part "check of a program" 60 ./gradus check mlp.eq --device wgpu
echo
printf '%s' "$table"
"""


def build(arguments):
    """Runs cargo and returns the executables that it made, by package and target."""
    packages = [part for package, _ in TESTS | BINARIES | EXAMPLES for part in ("--package", package)]
    command = ["cargo", *arguments, *packages, "--message-format", "json"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    found = {}
    for line in output.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            package = pathlib.Path(message["manifest_path"]).parent.name
            found[(f"gradus-{package}", message["target"]["name"])] = message["executable"]
    return found


def main():
    profile = ["--release"] if "--release" in sys.argv[1:] else []
    tests = [part for _, name in TESTS for part in ("--test", name)]
    found = build(["test", "--no-run", *tests, *profile])
    found |= build(["build", "--bin", "gradus", "--example", "speed", *profile])
    shutil.rmtree(KIT, ignore_errors=True)
    KIT.mkdir(parents=True)
    for key, name in (TESTS | BINARIES | EXAMPLES).items():
        shutil.copy(found[key], KIT / name)
        subprocess.run(["strip", KIT / name], check=True)
    loader = next((path for path in LOADERS if pathlib.Path(path).exists()), None)
    if loader is None:
        sys.exit("libvulkan.so.1 is not installed (Debian: libvulkan1)")
    shutil.copy(loader, KIT / "libvulkan.so.1")
    shutil.copy(ROOT / "examples" / "equations" / "mlp.eq", KIT)
    (KIT / "run.sh").write_text(RUN)
    size = sum(path.stat().st_size for path in KIT.iterdir())
    print(f"{KIT.relative_to(ROOT)}: {size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
