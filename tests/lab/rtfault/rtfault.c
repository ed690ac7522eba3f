// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * Faults of known kind, time and length, to prove what finds their causes.
 *
 *   echo "KIND LENGTH_US COUNT FIRST_NS PERIOD_NS" > /proc/rtfault     FIRST_NS on CLOCK_MONOTONIC
 *   echo stop > /proc/rtfault                                          no more faults of the plan that runs
 *   cat /proc/rtfault                                                 one line a fault: KIND LENGTH_US START_NS END_NS
 *
 * The faults run on CPU 0, begun by a thread "rtfault_KIND". Only one plan runs at a time; the write returns at once. Built under another
 * name it is a second module, for two faults at once.
 * The module lives in the lab only. The kernel gives some of these symbols to modules that say "GPL" only.
 */
#include <linux/console.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>
#include <asm/msr.h>
#include <uapi/linux/sched/types.h>

#define CPU 0
#define LOGGED 4096
#define FLOOD 64
#define SMI_PORT 0xb2
#define SMRAM_REGISTER 0x9d /* of the q35 host bridge */
#define SMRAM_OPEN 0x40
#define SMI_HANDLER 0xa8000UL /* where the lab's firmware put SMBASE, and 0x8000 */
#define NS_PER_ROUND 16 /* two instructions of virtual time */
#define HOG_NS 90000000
#define IRQ 7 /* of the ISA bus: an edge, so that it can be raised again, and without a device on q35 */
#define LANE_PRIORITY 90

struct plan { char kind; unsigned long length_us; unsigned int count; u64 first_ns, period_ns; };
struct fault { char kind; unsigned long length_us; u64 start_ns, end_ns; };

static struct plan plan;
static struct fault faults[LOGGED];
static atomic_t n_faults;
static struct tasklet_struct tasklet, flood[FLOOD];
static struct hrtimer timer;
static atomic_t busy;

static u64 now_ns(void) { return ktime_get_mono_fast_ns(); }

static void logged(u64 start_ns, u64 end_ns)
{
	int i = atomic_inc_return(&n_faults) - 1;

	if (i < LOGGED)
		faults[i] = (struct fault){ plan.kind, plan.length_us, start_ns, end_ns };
}

static noinline void rtfault_spin(unsigned long length_us)
{
	u64 start = now_ns(), now = start;

	while (now < start + length_us * NSEC_PER_USEC) {
		cpu_relax();
		now = now_ns();
	}
	logged(start, now);
}

static noinline void rtfault_interrupts_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	rtfault_spin(plan.length_us);
	local_irq_restore(flags);
}

static noinline void rtfault_preemption_off(void)
{
	preempt_disable();
	rtfault_spin(plan.length_us);
	preempt_enable();
}

static noinline void rtfault_bottom_halves_off(void)
{
	local_bh_disable();
	rtfault_spin(plan.length_us);
	local_bh_enable();
}

static void rtfault_tasklet(struct tasklet_struct *t) { rtfault_spin(plan.length_us); }

/* Many short softirqs one after the other; the first and the last say when the flood was. */
static u64 flood_start_ns;
static void rtfault_flood(struct tasklet_struct *t)
{
	u64 start = now_ns(), now = start;

	if (t == &flood[0])
		flood_start_ns = start;
	while (now < start + plan.length_us * NSEC_PER_USEC / FLOOD)
		now = now_ns();
	if (t == &flood[FLOOD - 1])
		logged(flood_start_ns, now);
}

static void start_flood(void)
{
	int i;

	local_bh_disable();
	for (i = 0; i < FLOOD; i++)
		tasklet_hi_schedule(&flood[i]);
	local_bh_enable();
}

static enum hrtimer_restart rtfault_hrtimer(struct hrtimer *t)
{
	rtfault_spin(plan.length_us);
	return HRTIMER_NORESTART;
}

static void rtfault_fifo(int priority)
{
	struct sched_attr attr = { .size = sizeof(attr), .sched_policy = SCHED_FIFO, .sched_priority = priority };

	sched_setattr_nocheck(current, &attr);
}

/*
 * A thread below the lane that does not sleep: the scheduler takes the CPU from all real-time threads for the rest of its period
 * (sched_rt_period_us, sched_rt_runtime_us: their difference is the length). It ends after the first such time. What is shorter was a lane
 * or a thread of the measurement.
 */
static noinline void rtfault_hog(void)
{
	u64 start = now_ns(), before = start, now = start;

	while (now < start + HOG_NS) {
		cond_resched();
		now = now_ns();
		if (now - before > plan.length_us * NSEC_PER_USEC) {
			logged(before, now);
			return;
		}
		before = now;
	}
}

static void rtfault_console_write(struct console *c, const char *text, unsigned int n)
{
	u64 end = now_ns() + plan.length_us * NSEC_PER_USEC;

	while (strnstr(text, KBUILD_MODNAME "\n", n) && now_ns() < end)
		cpu_relax();
}
static struct console slow_console = { .name = "rtfault", .write = rtfault_console_write, .flags = CON_ENABLED, .index = -1 };

/* The handler of system management interrupts becomes a loop of the plan's length: mov ecx, ROUNDS; dec ecx; jnz; rsm (16 bit). */
static int rtfault_smi_prepare(void)
{
	u8 code[] = { 0x66, 0xb9, 0, 0, 0, 0, 0x66, 0x49, 0x75, 0xfc, 0x0f, 0xaa };
	u32 rounds = plan.length_us * NSEC_PER_USEC / NS_PER_ROUND;
	struct pci_dev *bridge = pci_get_domain_bus_and_slot(0, 0, PCI_DEVFN(0, 0));
	void __iomem *handler = ioremap(SMI_HANDLER, sizeof(code));
	u8 smram;

	if (!bridge || !handler)
		return -ENODEV;
	memcpy(code + 2, &rounds, sizeof(rounds));
	pci_read_config_byte(bridge, SMRAM_REGISTER, &smram);
	pci_write_config_byte(bridge, SMRAM_REGISTER, smram | SMRAM_OPEN);
	memcpy_toio(handler, code, sizeof(code));
	pci_write_config_byte(bridge, SMRAM_REGISTER, smram);
	iounmap(handler);
	pci_dev_put(bridge);
	return 0;
}

/* Logged only if the CPU counted it. */
static noinline void rtfault_smi(void)
{
	u64 before, after, start, end;

	rdmsrl(MSR_SMI_COUNT, before);
	start = now_ns();
	outb(0, SMI_PORT);
	end = now_ns();
	rdmsrl(MSR_SMI_COUNT, after);
	if (after == before + 1)
		logged(start, end);
}

/* All of the call is the fault: the board's own console is written to as well. What is a warning only ('w') the console's level may keep away. */
static noinline void rtfault_printk(void)
{
	u64 start = now_ns();

	if (plan.kind == 'w')
		pr_warn(KBUILD_MODNAME "\n");
	else
		pr_emerg(KBUILD_MODNAME "\n");
	logged(start, now_ns());
}

/* A device's interrupt whose driver does its work in a thread, and puts that above the lane: a line that no device of this machine uses, raised by the kernel itself. */
static irqreturn_t rtfault_wake(int irq, void *unused) { return IRQ_WAKE_THREAD; }
static irqreturn_t rtfault_thread(int irq, void *unused)
{
	static bool raised;

	if (!raised)
		rtfault_fifo(LANE_PRIORITY + 6);
	raised = true;
	rtfault_spin(plan.length_us);
	return IRQ_HANDLED;
}

static void rtfault_ipi(void *unused) { rtfault_spin(plan.length_us); }

/*
 * A page fault of the lane itself: on its way back from sleeping it reads a page of this file, which is not there. To bring it takes
 * the plan's length, asleep as if it came from a disk ('g'), or running ('o').
 */
static struct page *page;
static struct callback_head on_return;

static vm_fault_t rtfault_fault(struct vm_fault *fault)
{
	ktime_t length = ns_to_ktime(plan.length_us * NSEC_PER_USEC);
	u64 start = now_ns();

	if (plan.kind == 'g') {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&length, HRTIMER_MODE_REL);
		logged(start, now_ns());
	} else {
		rtfault_spin(plan.length_us);
	}
	get_page(page);
	fault->page = page;
	return 0;
}
static const struct vm_operations_struct memory = { .fault = rtfault_fault };

static int mapped(struct file *f, struct vm_area_struct *area)
{
	area->vm_flags |= VM_IO | VM_DONTEXPAND; /* mlockall leaves it alone */
	area->vm_ops = &memory;
	return 0;
}

static void in_the_lane(struct callback_head *unused)
{
	struct file *own = filp_open("/proc/" KBUILD_MODNAME, O_RDONLY, 0);
	unsigned long at;
	char byte;

	if (IS_ERR(own))
		return;
	at = vm_mmap(own, 0, PAGE_SIZE, PROT_READ, MAP_SHARED, 0);
	if (!IS_ERR_VALUE(at)) {
		if (get_user(byte, (char __user *)at))
			pr_err("rtfault: no page\n");
		vm_munmap(at, PAGE_SIZE);
	}
	filp_close(own, NULL);
}

static void rtfault_page(void)
{
	struct task_struct *t, *lane = NULL;

	rcu_read_lock();
	for_each_process(t) {
		struct task_struct *thread;

		for_each_thread(t, thread)
			if (thread->mm && thread->rt_priority == LANE_PRIORITY)
				lane = thread;
	}
	init_task_work(&on_return, in_the_lane);
	if (lane)
		task_work_add(lane, &on_return, TWA_RESUME);
	rcu_read_unlock();
}

static void one(void)
{
	switch (plan.kind) {
	case 'i': rtfault_interrupts_off(); break;
	case 'p': rtfault_preemption_off(); break;
	case 'b': rtfault_bottom_halves_off(); break;
	case 't': tasklet_schedule(&tasklet); break;
	case 'l': start_flood(); break;
	case 'f': rtfault_spin(plan.length_us); break;
	case 's': rtfault_spin(plan.length_us); break;
	case 'r': rtfault_hog(); break;
	case 'k':
	case 'w': rtfault_printk(); break;
	case 'd': irq_inject_interrupt(IRQ); break;
	case 'm': rtfault_smi(); break;
	case 'g':
	case 'o': rtfault_page(); break;
	case 'x': smp_call_function_single(CPU, rtfault_ipi, NULL, 1); break;
	}
}

static int work(void *unused)
{
	unsigned int i;

	if (plan.kind == 'f')
		rtfault_fifo(99);
	if (plan.kind == 'r')
		rtfault_fifo(50);
	for (i = 0; i < READ_ONCE(plan.count); i++) {
		ktime_t at = ns_to_ktime(plan.first_ns + i * plan.period_ns);

		if (plan.kind == 'h') {
			hrtimer_start(&timer, at, HRTIMER_MODE_ABS_PINNED_HARD);
			/* not in what the other of two faults delays */
			at = ktime_add_ns(at, plan.length_us * NSEC_PER_USEC + min_t(u64, 10 * NSEC_PER_MSEC, plan.period_ns / 4));
		}
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
		if (plan.kind != 'h')
			one();
	}
	atomic_set(&busy, 0);
	return 0;
}

static ssize_t written(struct file *f, const char __user *from, size_t n, loff_t *offset)
{
	char text[96] = { 0 };
	struct plan new;
	struct task_struct *t;
	int error;

	if (n >= sizeof(text) || copy_from_user(text, from, n))
		return -EINVAL;
	if (!strcmp(text, "stop\n")) {
		WRITE_ONCE(plan.count, 0);
		return n;
	}
	if (sscanf(text, "%c %lu %u %llu %llu", &new.kind, &new.length_us, &new.count, &new.first_ns, &new.period_ns) != 5)
		return -EINVAL;
	if (!strchr("ipbtlhfsrkmxgowd", new.kind) || new.length_us > 2000000)
		return -EINVAL;
	if (atomic_cmpxchg(&busy, 0, 1))
		return -EBUSY;
	plan = new;
	error = plan.kind == 'm' ? rtfault_smi_prepare() : 0;
	if (plan.kind == 'd')
		error = request_threaded_irq(IRQ, rtfault_wake, rtfault_thread, IRQF_ONESHOT, KBUILD_MODNAME, &plan);
	if (error) {
		atomic_set(&busy, 0);
		return error;
	}
	t = kthread_create(work, NULL, "rtfault_%c", plan.kind);
	if (IS_ERR(t)) {
		atomic_set(&busy, 0);
		return PTR_ERR(t);
	}
	kthread_bind(t, plan.kind == 'x' ? CPU + 1 : CPU);
	wake_up_process(t);
	return n;
}

static int shown(struct seq_file *m, void *unused)
{
	int i, n = min(atomic_read(&n_faults), LOGGED);

	for (i = 0; i < n; i++)
		seq_printf(m, "%c %lu %llu %llu\n", faults[i].kind, faults[i].length_us, faults[i].start_ns, faults[i].end_ns);
	return 0;
}

static int opened(struct inode *inode, struct file *f) { return single_open(f, shown, NULL); }
static const struct proc_ops ops = {
	.proc_open = opened, .proc_read = seq_read, .proc_lseek = seq_lseek, .proc_release = single_release, .proc_write = written,
	.proc_mmap = mapped,
};

static int __init rtfault_begin(void)
{
	int i;

	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	tasklet_setup(&tasklet, rtfault_tasklet);
	for (i = 0; i < FLOOD; i++)
		tasklet_setup(&flood[i], rtfault_flood);
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer.function = rtfault_hrtimer;
	register_console(&slow_console);
	return proc_create(KBUILD_MODNAME, 0600, NULL, &ops) ? 0 : -ENOMEM;
}
module_init(rtfault_begin);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Faults of known kind, time and length");
