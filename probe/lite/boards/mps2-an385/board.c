/* Arm MPS2 with the AN385 image (Cortex-M3, 25 MHz), as QEMU has it. Registers: Arm Cortex-M System Design Kit, technical reference manual. */
#include "FreeRTOS.h"
#include "task.h"

#include "freertos.h"
#include "rtlite.h"

#include <string.h>

struct timer { /* APB timer: counts down, from reload to reload */
	volatile uint32_t control, value, reload, interrupt;
};
struct dual_timer { /* the first half of the APB dual timer */
	volatile uint32_t load, value, control, clear;
};
struct uart {
	volatile uint32_t data, state, control, interrupt, divider;
};

#define CLOCK ((struct timer *)0x40000000)
#define ALARM ((struct timer *)0x40001000)
#define STORM ((struct dual_timer *)0x40002000)
#define UART ((struct uart *)0x40004000)
#define PLAN 0x20200000
#define PLAN_MARK "RTLPLAN:"
#define IRQ_ENABLE (*(volatile uint32_t *)0xE000E100)
#define IRQ_PRIORITY ((volatile uint8_t *)0xE000E400)

enum {
	ALARM_IRQ = 9,
	STORM_IRQ = 10,
	NS_PER_TICK = 1000000000 / BOARD_CLOCK_HZ,
	LATEST_TICKS = 0x40000000,
	PRIORITY = configMAX_SYSCALL_INTERRUPT_PRIORITY, /* these interrupts may call FreeRTOS */
	ENABLE = 1,
	INTERRUPT = 8, /* APB timer */
	STORM_ON = 0x80 | 0x40 | 0x20 | 0x02, /* enabled, periodic, interrupt, 32 bits */
	TX_FULL = 1,
	RX_FULL = 2,
	TX_RX_ON = 3 /* UART */
};

int64_t board_now_ns(void)
{
	static uint32_t wraps, last;
	const uint32_t now = 0xFFFFFFFFu - CLOCK->value;

	wraps += now < last;
	last = now;
	return (int64_t)((uint64_t)wraps << 32 | now) * NS_PER_TICK;
}

void board_ring_in(int64_t ns)
{
	int64_t ticks = (ns + NS_PER_TICK - 1) / NS_PER_TICK;

	if (ticks < 1)
		ticks = 1;
	if (ticks > LATEST_TICKS)
		ticks = LATEST_TICKS; /* rings early, and is armed again */
	ALARM->control = 0;
	ALARM->interrupt = 1;
	ALARM->reload = ALARM->value = (uint32_t)ticks;
	ALARM->control = ENABLE | INTERRUPT;
}

static void alarm_handler(void)
{
	ALARM->control = 0;
	ALARM->interrupt = 1;
	freertos_timer_rang();
}

static int64_t storm_busy_ns;

int board_storm(int64_t every_ns, int64_t busy_ns)
{
	STORM->control = 0;
	STORM->clear = 1;
	storm_busy_ns = busy_ns;
	if (every_ns) {
		STORM->load = (uint32_t)(every_ns / NS_PER_TICK);
		STORM->control = STORM_ON;
	}
	return 0;
}

static void storm_handler(void)
{
	const int64_t until_ns = rtl_now_ns() + storm_busy_ns;

	STORM->clear = 1;
	while (rtl_now_ns() < until_ns)
		;
}

void rtl_put(char c)
{
	while (UART->state & TX_FULL)
		;
	UART->data = (uint8_t)c;
}

/* A plan that QEMU's loader put into memory, so that a run needs no input and is the same each time. */
static int planned(void)
{
	static const char *at = (const char *)PLAN + sizeof PLAN_MARK - 1;

	if (memcmp((const void *)PLAN, PLAN_MARK, sizeof PLAN_MARK - 1))
		return -1;
	return *at ? *at++ : -1;
}

int board_typed(void)
{
	return UART->state & RX_FULL ? (int)(UART->data & 0xff) : -1;
}

int rtl_get(void)
{
	const int c = planned();

	if (c >= 0)
		return c;
	while (!(UART->state & RX_FULL))
		vTaskDelay(1);
	return (int)(UART->data & 0xff);
}

extern uint32_t data_begin, data_end, data_image, bss_begin, bss_end, stack_end;

static void reset_handler(void)
{
	const uint32_t *from = &data_image;

	for (uint32_t *to = &data_begin; to < &data_end;)
		*to++ = *from++;
	for (uint32_t *to = &bss_begin; to < &bss_end;)
		*to++ = 0;
	UART->divider = 217; /* 115200 baud */
	UART->control = TX_RX_ON;
	CLOCK->reload = CLOCK->value = 0xFFFFFFFFu;
	CLOCK->control = ENABLE;
	IRQ_PRIORITY[ALARM_IRQ] = IRQ_PRIORITY[STORM_IRQ] = PRIORITY;
	IRQ_ENABLE = 1u << ALARM_IRQ | 1u << STORM_IRQ;
	freertos_begin();
}

static void stop(void)
{
	for (;;)
		;
}

void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);

__attribute__((section(".vectors"), used)) static void (*const vectors[16 + 32])(void) = {
	[0] = (void (*)(void))&stack_end,
	[1] = reset_handler,
	[2] = stop,
	[3] = stop,
	[4] = stop,
	[5] = stop,
	[6] = stop,
	[11] = SVC_Handler,
	[12] = stop,
	[14] = PendSV_Handler,
	[15] = SysTick_Handler,
	[16 + ALARM_IRQ] = alarm_handler,
	[16 + STORM_IRQ] = storm_handler,
};
