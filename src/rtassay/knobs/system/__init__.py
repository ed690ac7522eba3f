"""Services, devices and firmware."""
