//! Finds the size of an adapter's memory. WebGPU does not report it, so this module calls Vulkan directly.

/// Returns the bytes of the largest memory local to the device; `None` if the backend does not report it.
#[cfg(all(unix, not(target_vendor = "apple")))]
pub(crate) fn bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    /// `VK_MEMORY_HEAP_DEVICE_LOCAL_BIT`.
    const LOCAL: u32 = 1;
    // SAFETY: the handle is dropped at the end of this function, and this function destroys no Vulkan object.
    let vulkan = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = vulkan.shared_instance().raw_instance();
    // SAFETY: the physical device belongs to this instance, and both exist as long as `vulkan` does.
    let memory = unsafe { instance.get_physical_device_memory_properties(vulkan.raw_physical_device()) };
    let heaps = memory.memory_heaps.iter().take(memory.memory_heap_count as usize);
    heaps.filter(|heap| heap.flags.as_raw() & LOCAL != 0).map(|heap| heap.size).max()
}

/// Returns the bytes of the largest memory local to the device; `None` if the backend does not report it.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
pub(crate) fn bytes(_: &wgpu::Adapter) -> Option<u64> {
    None
}
