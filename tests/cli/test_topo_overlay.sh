#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that topo names links as the management libraries do, and reports
# unknown links as unknown. Drivers and libraries are doubles, and topo reports
# this.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
doubles=$build/doubles
[ -e "$doubles/nvml/libnvidia-ml.so.1" ] || skip 'the doubles are not built'

topo() { # DOUBLES VARIABLE=VALUE...
    env LD_LIBRARY_PATH="$1" "${@:2}" "$peal" topo --json >out.json 2>err.txt ||
        fail "peal topo with $*"
}
link() { # FROM TO: as an expression
    printf "[p for p in d['pairs'] if (p['from'], p['to']) == (%d, %d)][0]['link']" "$1" "$2"
}

# ---- without GPUs -----------------------------------------------------------------
topo ''
holds out.json "d['management'] == []" "$(link 0 1) is None" \
    "all(p['link_why'] for p in d['pairs'])" \
    "[n['backend'] for n in d['nodes']] == ['host'] * 2" \
    "all(n['emulated'] and n['numa_node_why'] for n in d['nodes'])"
"$peal" topo >text.txt || fail 'peal topo'
! grep -q 'management library' text.txt || fail 'a matrix of links that nobody knows'
says 'no GPUs: no links, and why'

# ---- AMD --------------------------------------------------------------------------
amd=$doubles/hip:$doubles/rocm_smi
topo "$amd" PEAL_DOUBLE_DEVICES=3 PEAL_DOUBLE_TOPOLOGY=0-1:XGMI
holds out.json "$(link 0 1) == 'XGMI' == $(link 1 0)" "$(link 0 2) == 'PCIE'" \
    "$(link 0 0) is None" "d['nodes'][1]['pci'] == 'fffe:01:00.0'" \
    "d['management'] == [{'library': 'librocm_smi64.so', 'available': True, 'emulated': True, 'reason': None, 'reason_why': 'it is available'}]"
topo "$amd" PEAL_DOUBLE_FAIL_SMI=rsmi_topo_get_link_type
holds out.json "$(link 0 1) is None" \
    "'librocm_smi64.so does not know' in d['pairs'][1]['link_why']"
topo "$amd" PEAL_DOUBLE_SMI=init=8
holds out.json "$(link 0 1) is None" "d['management'][0]['available'] is False" \
    "'error 8' in d['management'][0]['reason'] and 'error 8' in d['pairs'][1]['link_why']"
topo "$amd" PEAL_GPU_SPLIT=2 PEAL_DOUBLE_DEVICES=1
holds out.json "$(link 0 1) == 'SAME'"
says 'AMD: XGMI, PCIe, parts of one, and what is not known'

# ThreadSanitizer does not support the 16-byte accesses of CUDA devices.
! grep -q '^PEAL_SANITIZE:[A-Z]*=thread' "$build/CMakeCache.txt" || exit 0

# ---- NVIDIA -----------------------------------------------------------------------
nvidia=$doubles/cuda:$doubles/nvml
plan=0-1:NV4,0-2:PXB,2-S:NV6,3-S:NV5,1-2:PIX,1-3:PHB,0-3:NODE
topo "$nvidia" PEAL_DOUBLE_DEVICES=5 PEAL_DOUBLE_TOPOLOGY=$plan
holds out.json "$(link 0 1) == 'NV4' == $(link 1 0)" "$(link 2 3) == 'NV5'" \
    "$(link 0 2) == 'PXB'" "$(link 2 1) == 'PIX'" "$(link 1 3) == 'PHB'" \
    "$(link 3 0) == 'NODE'" "$(link 4 0) == 'SYS'" "$(link 2 2) is None" \
    "d['management'][0]['emulated'] and d['emulated']"
env LD_LIBRARY_PATH="$nvidia" PEAL_DOUBLE_TOPOLOGY=0-1:NV4 "$peal" topo >text.txt ||
    fail 'peal topo as text'
for word in '^0 .* NV4' 'libnvidia-ml.so.1 names them (emulated' 'NUMA node' 'ffff:01:00.0'; do
    grep -q -- "$word" text.txt || fail "peal topo does not show '$word'"
done
topo "$nvidia" PEAL_DOUBLE_TOPOLOGY=0-1:NV4 PEAL_DOUBLE_FAIL_SMI=nvmlDeviceGetNvLinkState
holds out.json "$(link 0 1) == 'SYS'"
topo "$nvidia" PEAL_DOUBLE_FAIL_SMI=nvmlDeviceGetTopologyCommonAncestor
holds out.json "$(link 0 1) is None" "d['pairs'][1]['link_why']"
topo "$nvidia" PEAL_DOUBLE_SMI=init=18
holds out.json "'mismatch (18)' in d['management'][0]['reason']"
topo "$doubles/cuda"
holds out.json "$(link 0 1) is None" "d['management'][0]['available'] is False" \
    "'libnvidia-ml.so.1' in d['pairs'][1]['link_why']"
says 'NVIDIA: NVLink, switches, PCIe levels, and what is not known'

# ---- a library without most of its symbols ------------------------------------------
command -v gcc >/dev/null || exit 0
mkdir old
cat >old.c <<'END'
int nvmlInit_v2(void) { return 0; }
#ifdef FINDS
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device)
{
	return *device = (void *)pci, 0;
}
#endif
END
gcc -shared -fPIC -DFINDS old.c -o old/libnvidia-ml.so.1
topo "$doubles/cuda:old"
holds out.json "d['management'][0]['available']" "not d['management'][0]['emulated']" \
    "$(link 0 1) is None"
gcc -shared -fPIC old.c -o old/libnvidia-ml.so.1
topo "$doubles/cuda:old"
holds out.json "'nvmlDeviceGetHandleByPciBusId_v2' in d['management'][0]['reason']"
says 'missing symbols are missing facts'
